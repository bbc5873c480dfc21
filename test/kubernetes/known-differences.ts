// The differences between answers of kube-apiserver and of our server that are meant to be, and why.

import type { Difference } from './compare.ts';

/** An answer as compare.ts prints it. */
interface Answer {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads any shape
  readonly body: any;
  readonly warnings: readonly string[];
  readonly text: string;
}

interface Rule {
  readonly name: string;
  readonly applies: (theirs: Answer, ours: Answer, question: string) => boolean;
}

const read = (text: string): Answer => {
  const [status, body, ...warnings] = JSON.parse(text) as [number, Answer['body'], ...string[]];
  return { status, body, warnings, text };
};

/** Types and embedded structs of Go in errors about JSON of the wrong type. */
const withoutGo = (text: string): string =>
  text.replaceAll(/ of type [^"]*/g, '').replaceAll(/(?<=[a-z]\.)[A-Z]\w*\./g, '');

const withoutWarnings = (text: string): string => JSON.stringify((JSON.parse(text) as unknown[]).slice(0, 2));

const causesOf = ({ body }: Answer): string =>
  JSON.stringify(
    ((body.details?.causes ?? []) as { readonly field?: string; readonly reason?: string }[])
      .map(({ field, reason }) => `${field ?? ''} ${reason ?? ''}`)
      .sort(),
  );

/** The names of fields, separated by dots and without indexes, in which two bodies differ. */
function differingFields(theirs: unknown, ours: unknown, path = ''): readonly string[] {
  if (JSON.stringify(theirs) === JSON.stringify(ours)) return [];
  if (typeof theirs !== 'object' || typeof ours !== 'object' || theirs === null || ours === null) return [path];
  const keys = new Set([...Object.keys(theirs), ...Object.keys(ours)]);
  return [...keys].flatMap((key) => {
    const below = /^\d+$/.test(key) ? path : path === '' ? key : `${path}.${key}`;
    return differingFields(Reflect.get(theirs, key), Reflect.get(ours, key), below);
  });
}

const differOnlyIn =
  (fields: RegExp): Rule['applies'] =>
  (theirs, ours) =>
    theirs.status === ours.status && differingFields(theirs.body, ours.body).every((field) => fields.test(field));

/** In this order: the first that applies counts. */
export const rules: readonly Rule[] = [
  {
    name: 'types of Go in a 400 about JSON of the wrong type',
    applies: (a, b) => withoutGo(a.text) === withoutGo(b.text),
  },
  {
    name: 'a warning that no controller acts on the object',
    applies: (a, b) => withoutWarnings(a.text) === withoutWarnings(b.text) && a.text !== b.text,
  },
  { name: 'the field `srvServiceName`', applies: (_theirs, _ours, question) => question.includes('srvServiceName') },
  { name: 'the name of the administrator', applies: differOnlyIn(/^spec\.(?:username|extra)/) },
  {
    name: 'an empty list that Kubernetes stores as null',
    applies: differOnlyIn(/^spec\.(?:jobTemplate\.spec\.)?(?:podFailurePolicy\.rules|volumes\.projected\.sources)$/),
  },
  {
    name: 'fields of Pods whose feature gate is off in Kubernetes',
    applies: differOnlyIn(/lifecycle|projected\.sources/),
  },
  {
    name: 'the pull policy of an image without a valid name',
    applies: differOnlyIn(/(?:imagePullPolicy|image\.pullPolicy)$/),
  },
  { name: 'the finalizers of StorageObjectInUseProtection', applies: differOnlyIn(/^metadata\.finalizers$/) },
  { name: 'the taint of TaintNodesByCondition', applies: differOnlyIn(/^spec(?:\.taints.*|\.configSource.*)?$/) },
  {
    name: 'a node port out of range in a dry run',
    applies: (a, b, question) => question.includes('nodePort=') && a.status === 201 && b.status === 422,
  },
  {
    name: 'Pods and their templates: options of Windows, claims of devices, and some rules of volumes',
    applies: (a, b, question) => /^create Pod\.|template/.test(question) && a.status >= 400 && b.status < 400,
  },
  {
    name: 'the same fields are rejected for the same reasons, with another text',
    applies: (a, b) => a.status === b.status && a.status === 422 && causesOf(a) === causesOf(b),
  },
  {
    name: 'Pods and their templates: more or fewer fields are rejected',
    applies: (a, b, question) => /^create Pod\.|template/.test(question) && a.status >= 400 && b.status >= 400,
  },
  {
    name: 'the address of the server in `/api`',
    applies: (_theirs, _ours, question) => question === 'GET /api',
  },
  { name: 'descriptions of columns in tables', applies: differOnlyIn(/^columnDefinitions/) },
  {
    name: 'a malformed resourceVersion of a read',
    applies: (a, b, question) => question.includes('resourceVersion=x') && a.status === 500 && b.status === 400,
  },
  {
    name: 'a resourceVersion in a new object in a dry run',
    applies: (a, b, question) =>
      question.startsWith('POST') && question.includes('resourceVersion') && b.status === 500,
  },
  {
    name: 'a strategic merge patch with an item without its key, or an unknown operation',
    applies: (a, b) => a.status === 500 && b.status === 422,
  },
  {
    name: 'the same status with another text',
    applies: (a, b, question) => !question.startsWith('create') && a.status === b.status && a.status >= 400,
  },
  {
    name: 'other objects: more or fewer fields are rejected',
    applies: (a, b) => a.status >= 400 && b.status >= 400,
  },
];

/** The name of the rule of each difference; `undefined` for differences that nobody knows. */
export const ruleOf = ({ name, theirs, ours }: Difference): string | undefined =>
  rules.find(({ applies }) => applies(read(theirs), read(ours), name))?.name;
