import { useEffect, useState } from 'preact/hooks'
import { Bars } from './charts.ts'
import { formatEnum } from './format.ts'
import { h } from './html.ts'
import { statuses } from './job-states.ts'
import { type JobStatus, lastDayQuery } from './operations.generated.ts'
import { useQuery } from './query.ts'

const [hourMilliseconds, minuteMilliseconds] = [3_600_000, 60_000]

const colours: Readonly<Record<JobStatus, string>> = {
  PENDING: 'warn',
  RUNNING: 'busy',
  SUCCEEDED: 'good',
  FAILED: 'bad',
  CANCELLED: 'soft',
}

const parts = statuses.map((status) => ({ name: formatEnum(status), colour: colours[status] }))

/** `14:00`, in the time zone of the browser. */
const hourOf = (time: number) => new Date(time).toTimeString().slice(0, 5)

/** The jobs of the last 24 hours by the hour of their creation and their state. It is read every minute. */
export function LastDay() {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), minuteMilliseconds)
    return () => clearInterval(timer)
  }, [])
  const first = Math.floor(now / hourMilliseconds) * hourMilliseconds - 23 * hourMilliseconds
  const { data } = useQuery(lastDayQuery, { after: new Date(first - 1).toISOString() }, now)
  const groups = data?.jobStats?.groups
  if (!groups || groups.length === 0) return null
  const bars = Array.from({ length: 24 }, (_, index) => {
    const hour = first + index * hourMilliseconds
    const own = groups.filter(({ createdHour }) => createdHour !== null && Date.parse(createdHour) === hour)
    const values = statuses.map((status) => own.find((group) => group.status === status)?.count ?? 0)
    return { name: hourOf(hour), values }
  })
  return h(Bars, { label: 'Jobs of the last day', head: 'Hour', bars, parts })
}
