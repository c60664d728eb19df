// Starts Swagger UI. The page has the demo key only for browsers on this machine.
const isDark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', isDark.matches)
follow()
isDark.addEventListener('change', follow)

const { key } = document.getElementById('reference').dataset
const ui = SwaggerUIBundle({
  url: '/openapi.json',
  domNode: document.getElementById('reference'),
  // The validator is on another host.
  validatorUrl: null,
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  // A browser cannot send a GET with a body. The parameters say the same.
  requestInterceptor(request) {
    if (request.method === 'GET') delete request.body
    return request
  },
  defaultModelsExpandDepth: 0,
  onComplete: () => key && ui.preauthorizeApiKey('apiKey', key),
})
