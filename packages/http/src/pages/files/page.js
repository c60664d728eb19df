// Adds a button to each sample that copies its text.

const status = document.createElement('p')
status.role = 'status'
document.querySelector('main').append(status)

for (const pre of document.querySelectorAll('pre')) {
  const name = pre.ariaLabel ?? 'Sample'
  const sample = document.createElement('div')
  sample.className = 'sample'
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Copy'
  button.ariaLabel = `Copy: ${name}`
  button.addEventListener('click', async () => {
    getSelection().selectAllChildren(pre)
    // Browsers copy only on pages of this machine or with TLS. Elsewhere the text is selected.
    const copied = await navigator.clipboard?.writeText(pre.textContent).then(
      () => true,
      () => false,
    )
    button.textContent = copied ? 'Copied' : 'Press Ctrl-C'
    status.textContent = copied ? `${name}: copied` : 'The text is selected. Press Ctrl-C.'
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 2_000)
  })
  pre.replaceWith(sample)
  sample.append(pre, button)
}
