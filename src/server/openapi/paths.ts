import type { Dialect } from './components.ts';
import { refTo } from './components.ts';
import type { Operation, PathOperations } from './operations.ts';
import type { Parameter } from './parameters.ts';

const responseTypes = ['application/json', 'application/yaml'];
const phrases: Readonly<Record<number, string>> = { 200: 'OK', 201: 'Created', 202: 'Accepted' };

/** The `paths` entry of one path. */
export const renderPath = ({ parameters, operations }: PathOperations, dialect: Dialect): object => ({
  ...Object.fromEntries(operations.map((operation) => [operation.method, renderOperation(operation, dialect)])),
  parameters: parameters.map((parameter) => renderParameter(parameter, dialect)),
});

function renderParameter({ name, in: place, type, description }: Parameter, dialect: Dialect): object {
  const required = place === 'path' ? { required: true } : {};
  const schema = { type, uniqueItems: true };
  return dialect === 'v3'
    ? { name, in: place, description, ...required, schema }
    : { name, in: place, description, ...required, ...schema };
}

function renderOperation(operation: Operation, dialect: Dialect): object {
  const { group, version } = operation.gvk;
  const common = {
    tags: [`${group === '' ? 'core' : group.split('.')[0]}_${version}`],
    description: operation.description,
    operationId: operation.id,
  };
  const extensions = { 'x-kubernetes-action': operation.action, 'x-kubernetes-group-version-kind': operation.gvk };
  const parameters = operation.parameters.map((parameter) => renderParameter(parameter, dialect));
  return dialect === 'v3'
    ? {
        ...common,
        ...unlessEmpty({ parameters }),
        ...requestBody(operation),
        responses: responses(operation, dialect),
        ...extensions,
      }
    : {
        ...common,
        consumes: operation.body?.contentTypes ?? ['*/*'],
        produces: responseTypes,
        schemes: ['https'],
        ...unlessEmpty({ parameters: [...bodyParameter(operation), ...parameters] }),
        responses: responses(operation, dialect),
        ...extensions,
      };
}

/** Kubernetes omits empty lists. */
const unlessEmpty = (field: { readonly parameters: readonly object[] }): object =>
  field.parameters.length === 0 ? {} : field;

function requestBody({ body }: Operation): object {
  if (body === undefined) return {};
  const schema = { $ref: refTo(body.schema, 'v3') };
  return {
    requestBody: {
      content: Object.fromEntries(body.contentTypes.map((type) => [type, { schema }])),
      ...(body.required ? { required: true } : {}),
    },
  };
}

const bodyParameter = ({ body }: Operation): readonly object[] =>
  body === undefined
    ? []
    : [
        {
          in: 'body',
          name: 'body',
          ...(body.required ? { required: true } : {}),
          schema: { $ref: refTo(body.schema, 'v2') },
        },
      ];

function responses({ responseSchema, codes }: Operation, dialect: Dialect): object {
  const schema = { $ref: refTo(responseSchema, dialect) };
  const content = Object.fromEntries(responseTypes.map((type) => [type, { schema }]));
  const body = dialect === 'v3' ? { content } : { schema };
  return Object.fromEntries([
    ...codes.map((code) => [code, { description: phrases[code] ?? 'OK', ...body }]),
    ['401', { description: 'Unauthorized' }],
  ]);
}
