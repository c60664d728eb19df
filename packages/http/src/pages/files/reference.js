// Starts Swagger UI. The page has the demo key only for browsers on this machine.
const isDark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', isDark.matches)
follow()
isDark.addEventListener('change', follow)

const documentUrl = new URL('openapi.json', location.href).href
const { key } = document.getElementById('reference').dataset
const ui = SwaggerUIBundle({
  url: documentUrl,
  domNode: document.getElementById('reference'),
  // The validator is on another host.
  validatorUrl: null,
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  // A browser cannot send a GET with a body. The parameters say the same.
  requestInterceptor(request) {
    if (request.method === 'GET') delete request.body
    request.headers['graphql-client-name'] = 'Swagger UI'
    return request
  },
  // Requests go where this page comes from, whatever a proxy says.
  responseInterceptor(response) {
    if (response.url === documentUrl) {
      response.text = JSON.stringify({
        ...JSON.parse(response.text),
        servers: [{ url: new URL('.', documentUrl).href }],
      })
    }
    return response
  },
  defaultModelsExpandDepth: 0,
  onComplete: () => key && ui.preauthorizeApiKey('apiKey', key),
})
