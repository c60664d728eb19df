import { type ReactNode, use } from 'react'
import type { ProfileDetailsFragment } from '../__generated__/graphql.ts'
import { country, date, dateAndTime, difference, shortNumber, wholeNumber, words } from './format.ts'
import { MissingFields, Value } from './value.tsx'

type Profile = ProfileDetailsFragment

const audience = [
  ['followersCount', 'Followers'],
  ['subscribersCount', 'Subscribers'],
  ['followingCount', 'Following'],
  ['contentsCount', 'Posts'],
  ['watchTimeInHours', 'Watch hours'],
] as const

/** The parts of a list entry that people write differently: `{city, country}`, `{type, value}`. */
const textOf = (entry: Record<string, unknown>) => String(entry['value'] ?? Object.values(entry).join(', '))

/** A profile by its parts: audience, identity, contact. */
export function ProfileDetails({ profile }: { readonly profile: Profile }) {
  const { withheld } = use(MissingFields)
  const identity: [field: keyof Profile, label: string, value: ReactNode][] = [
    ['fullName', 'Name', profile.fullName],
    ['nickName', 'Nickname', profile.nickName],
    ['gender', 'Gender', profile.gender && words(profile.gender)],
    ['dateOfBirth', 'Born', profile.dateOfBirth && date(profile.dateOfBirth)],
    ['category', 'Category', profile.category],
    ['country', 'Country', profile.country && country(profile.country)],
    ['joinedAt', 'Joined', profile.joinedAt && date(profile.joinedAt)],
    ['url', 'Profile', profile.url && <Web url={profile.url} />],
    ['websiteUrl', 'Website', profile.websiteUrl && <Web url={profile.websiteUrl} />],
  ]
  const contact: [field: keyof Profile, label: string, value: ReactNode][] = [
    ['emails', 'Email', profile.emails && <Emails emails={profile.emails} />],
    ['phoneNumbers', 'Phone', profile.phoneNumbers && <Lines lines={profile.phoneNumbers.map(textOf)} />],
    ['addresses', 'Address', profile.addresses && <Lines lines={profile.addresses.map(textOf)} />],
  ]
  return (
    <MissingFields value={{ unsupported: profile.unsupportedFields, withheld }}>
      {profile.description && <p className="description">{profile.description}</p>}
      <dl className="audience">
        {audience.map(([field, label]) => (
          <div key={field}>
            <dt>{label}</dt>
            <dd title={profile[field] === null ? undefined : wholeNumber(profile[field])}>
              <Value field={field}>{profile[field] === null ? null : shortNumber(profile[field])}</Value>
            </dd>
            {field === 'followersCount' && profile.followersGrowth !== null && (
              <dd className="growth">{difference(profile.followersGrowth)} in 30 days</dd>
            )}
          </div>
        ))}
      </dl>
      <Facts title="Identity" facts={identity} />
      <Facts title="Contact" facts={contact} />
      <p className="footnote">Synchronized {dateAndTime(profile.syncedAt)}</p>
    </MissingFields>
  )
}

function Facts({ title, facts }: { readonly title: string; readonly facts: [string, string, ReactNode][] }) {
  return (
    <>
      <h3>{title}</h3>
      <dl className="facts">
        {facts.map(([field, label, value]) => (
          <div key={field}>
            <dt>{label}</dt>
            <dd>
              <Value field={field}>{value}</Value>
            </dd>
          </div>
        ))}
      </dl>
    </>
  )
}

function Web({ url }: { readonly url: string }) {
  return (
    <a href={url} target="_blank" rel="noreferrer">
      {new URL(url).host}
    </a>
  )
}

function Emails({ emails }: { readonly emails: NonNullable<Profile['emails']> }) {
  const lines = emails.map(({ value, isPrimary, isVerified }) => {
    const notes = [isPrimary && 'primary', isVerified && 'verified'].filter(Boolean)
    return notes.length > 0 ? `${value} (${notes.join(', ')})` : value
  })
  return <Lines lines={lines} />
}

function Lines({ lines }: { readonly lines: readonly string[] }) {
  if (lines.length === 0) return <>None</>
  return (
    <ul className="lines">
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  )
}
