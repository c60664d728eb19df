import path from 'node:path'
import ts from 'typescript'

/**
 * Finds the places in src/ and packages/ that read or write an object under a name whose type is any text:
 * `record[name]`, `name in record`, `{ [name]: value } = record`, `Object.assign(record, others)`. If a caller chooses
 * the name, then `toString` finds what every object inherits, and `__proto__` is lost.
 */
const root = path.resolve(import.meta.dirname, '../..')

/**
 * No name comes from a caller here: rows have those of the data model; commands and documents, those of this project.
 */
const exempt =
  /^packages\/(base\/src\/own-value\.ts|(sql|embedded|prisma-trees|database|migrate|citus)\/)|^src\/(cli\/|rest\/openapi\/|console\/)|^packages\/client\/src\/apollo\.ts/

const textFlags = ts.TypeFlags.StringLike | ts.TypeFlags.Any | ts.TypeFlags.Unknown

function createChecker(types: ts.TypeChecker) {
  /** Whether a key can be any text. */
  function isText(key: ts.Expression): boolean {
    const isAny = (type: ts.Type): boolean =>
      type.isUnion() ? type.types.some(isAny) : !type.isStringLiteral() && (type.flags & textFlags) !== 0
    return isAny(types.getTypeAtLocation(key))
  }

  /** Whether the fields of an object are not known from its type. */
  function isOpen(value: ts.Expression): boolean {
    const type = types.getTypeAtLocation(value)
    const isObject = (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.NonPrimitive)) !== 0
    return isObject || types.getIndexInfoOfType(type, ts.IndexKind.String) !== undefined
  }

  /** `for (const key in value) value[key]` reads what the value has. */
  function isOfLoop(key: ts.Expression): boolean {
    const [declaration] = types.getSymbolAtLocation(key)?.declarations ?? []
    return declaration !== undefined && ts.isForInStatement(declaration.parent.parent)
  }

  return (node: ts.Node): boolean => {
    if (ts.isElementAccessExpression(node)) return isText(node.argumentExpression) && !isOfLoop(node.argumentExpression)
    if (ts.isBinaryExpression(node)) return node.operatorToken.kind === ts.SyntaxKind.InKeyword && isText(node.left)
    if (ts.isComputedPropertyName(node)) return ts.isBindingElement(node.parent) && isText(node.expression)
    if (!ts.isCallExpression(node) || node.expression.getText() !== 'Object.assign') return false
    return node.arguments.slice(1).some(isOpen)
  }
}

const { config } = ts.readConfigFile(path.join(root, 'tsconfig.json'), ts.sys.readFile)
const { fileNames, options } = ts.parseJsonConfigFileContent(
  { ...config, include: ['src', 'packages/*/src'] },
  ts.sys,
  root,
)
const program = ts.createProgram(fileNames, options)
const isFound = createChecker(program.getTypeChecker())
let found = 0

for (const file of program.getSourceFiles()) {
  const name = path.relative(root, file.fileName)
  if (!/^(src|packages\/[\w-]+\/src)\//.test(name) || exempt.test(name)) continue
  const visit = (node: ts.Node): void => {
    if (isFound(node)) {
      found += 1
      const { line } = file.getLineAndCharacterOfPosition(node.getStart())
      process.stderr.write(`${name}:${line + 1}: ${node.getText()}\n`)
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
}

if (found > 0) {
  process.stderr.write(`\n${found} found. Use a Map, or ownValue and recordOf of packages/base/src/own-value.ts.\n`)
  process.exitCode = 1
}
