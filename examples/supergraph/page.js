/** A page that asks for the users of one subgraph and the orders of the other, with one query. */
export const page = `<!doctype html>
<html lang="en">
<title>Orders of creators</title>
<style>body { font: 16px/1.5 system-ui; max-width: 40rem; margin: 2rem auto } td { padding: 0 2rem 0 0 }</style>
<h1>Orders of creators</h1>
<table><tbody id="rows"></tbody></table>
<script type="module">
const query = '{ orders { id total buyer { name accounts { platform displayName } } } }'
const response = await fetch('/', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ query }) })
const { data, errors } = await response.json()
const rows = document.getElementById('rows')
if (!data?.orders) rows.textContent = errors.map(({ message }) => message).join(' ')
for (const { total, buyer } of data?.orders ?? []) {
  const row = rows.insertRow()
  for (const text of [buyer.name, buyer.accounts.map(({ displayName }) => displayName).join(', '), (total / 100).toFixed(2)]) row.insertCell().textContent = text
}
</script>
`
