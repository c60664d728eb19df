import { createContext, type ReactNode, use } from 'react'

/** Why a field is null: its platform does not provide it, or the token may not read it. Otherwise its value is unknown. */
export const MissingFields = createContext<{
  readonly unsupported: readonly string[]
  readonly withheld: ReadonlySet<string>
}>({ unsupported: [], withheld: new Set() })

const reasons = {
  withheld: 'This session may not read it',
  unsupported: 'The platform does not provide it',
  unknown: 'The platform did not send it',
}

/** A value, or the reason why there is none. */
export function Value({ field, children }: { readonly field: string; readonly children: ReactNode }) {
  const { unsupported, withheld } = use(MissingFields)
  if (children !== null && children !== undefined && children !== '') return children
  const reason = withheld.has(field) ? 'withheld' : unsupported.includes(field) ? 'unsupported' : 'unknown'
  return (
    <span className={`missing ${reason}`} title={reasons[reason]}>
      {reason}
    </span>
  )
}

/** Explains the words that stand for missing values. */
export function Legend() {
  return (
    <dl className="legend">
      {Object.entries(reasons).map(([name, reason]) => (
        <div key={name}>
          <dt>
            <span className={`missing ${name}`}>{name}</span>
          </dt>
          <dd>{reason}.</dd>
        </div>
      ))}
    </dl>
  )
}
