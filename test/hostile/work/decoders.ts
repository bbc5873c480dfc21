// Inputs of any length for the decoders of everything that a client sends.

import { parseAddress, parseCidr } from '../../../src/api/addresses.ts';
import { causesOf, invalidValue, joinErrors } from '../../../src/api/field-errors.ts';
import { nodeKind } from '../../../src/api/kinds/core/node/kind.ts';
import { secretKind } from '../../../src/api/kinds/core/secret/kind.ts';
import { serviceKind } from '../../../src/api/kinds/core/service/kind.ts';
import * as names from '../../../src/api/names.ts';
import { deleteOptions } from '../../../src/api/delete-options.ts';
import { decode } from '../../../src/api/schema/decode.ts';
import { parseJson } from '../../../src/api/schema/json.ts';
import { strictProblems } from '../../../src/api/schema/json-scan.ts';
import { decodeEnvelope, decodeProtobuf } from '../../../src/api/schema/protobuf.ts';
import { WireWriter } from '../../../src/api/schema/wire.ts';
import { parseYaml } from '../../../src/api/schema/yaml.ts';
import { parseFieldSelector } from '../../../src/api/selectors/fields.ts';
import { matchesLabels, parseLabelSelector } from '../../../src/api/selectors/labels.ts';
import { bearerToken, protocolToken } from '../../../src/server/access/identity/authenticator.ts';
import { readImpersonation } from '../../../src/server/access/identity/impersonation.ts';
import { negotiate } from '../../../src/server/negotiate/accept.ts';
import { parseRequest } from '../../../src/server/request.ts';
import { decodeToken } from '../../../src/server/verbs/continue-token.ts';
import { parseWriteOptions } from '../../../src/server/verbs/write-options.ts';
import { warningHeaders } from '../../../src/server/reply.ts';

/** Creates an input of size n, and the function that reads it. */
type Case = (n: number) => Input;

interface Input {
  /** The size of the input. */
  readonly length: number;
  readonly read: () => unknown;
}

const many = (n: number, item: (index: number) => string, separator = ','): string =>
  Array.from({ length: n }, (_, index) => item(index)).join(separator);
const json =
  (text: (n: number) => string): Case =>
  (n) => {
    const body = text(n);
    const read = (): unknown => {
      const { value, duplicates } = parseJson(body);
      if (duplicates.length > 0) strictProblems(body, serviceKind.schema);
      return decode(serviceKind.schema, value);
    };
    return { length: body.length, read };
  };
const yaml =
  (text: (n: number) => string): Case =>
  (n) => {
    const body = text(n);
    return { length: body.length, read: () => decode(serviceKind.schema, parseYaml(body).value) };
  };
const service = (metadata: string, spec = ''): string => `{"metadata":{"name":"a",${metadata}},"spec":{${spec}}}`;
const text =
  (input: (n: number) => string, read: (text: string) => unknown): Case =>
  (n) => {
    const given = input(n);
    return { length: given.length, read: () => read(given) };
  };
/** An order without a pattern that sorting could exploit. */
const shuffled = (index: number): number => (index * 2_654_435_761) % 4_294_967_296;

function field(number: number, content: Uint8Array): Uint8Array {
  const writer = new WireWriter();
  writer.bytes(number, content);
  return writer.finish();
}
const times = (n: number, part: (index: number) => Uint8Array): Buffer =>
  Buffer.concat(Array.from({ length: n }, (_, index) => part(index)));
const empty = new Uint8Array();
const protobuf =
  (raw: (n: number) => Uint8Array): Case =>
  (n) => {
    const bytes = raw(n);
    return { length: bytes.length, read: () => decodeProtobuf(serviceKind.schema, bytes) };
  };

/** What is repeated or long → its inputs. */
export const decoderInputs: Readonly<Record<string, Case>> = {
  // JSON
  'different JSON keys, each twice': json((n) => `{${many(n, (i) => `"k${i}":1`)},${many(n, (i) => `"k${i}":1`)}}`),
  'equal JSON keys': json((n) => `{${many(n, () => '"a":1')}}`),
  'duplicate JSON keys under a long key': json(
    (n) => `{"${'x'.repeat(60 * n)}":{${many(n, (i) => `"k${i >> 1}":1`)}}}`,
  ),
  'duplicate JSON keys in many objects': json((n) => `{"a":[${many(n, () => '{"a":1,"a":1}')}]}`),
  'nested JSON': json((n) => `${'{"a":'.repeat(n / 20)}1${'}'.repeat(n / 20)}`),
  'brackets that are never closed': json((n) => '['.repeat(n)),
  'unknown JSON fields': json((n) => service(many(n, (i) => `"u${i}":1`))),
  'unknown and duplicate JSON fields': json((n) => service(many(n, (i) => `"u${i >> 1}":1`))),
  'JSON that ends too early': json((n) => `{${many(n, (i) => `"k${i}":1`)}`),
  'a wrong type after many fields': json((n) => service(`"labels":{${many(n, (i) => `"k${i}":""`)},"z":1}`)),
  'escapes in JSON': json((n) => service(`"uid":"${'\\u0041'.repeat(n)}"`)),
  'halves of surrogate pairs': json((n) => service(`"uid":"${'\\ud800'.repeat(n)}"`)),
  'backslashes before a quote': json((n) => service(`"uid":"${'\\\\'.repeat(n)}","generateName":"${'\\"'.repeat(n)}"`)),
  'digits of a number': json((n) => service(`"generation":${'1'.repeat(n)}`)),
  'labels in random order': json((n) => service(`"labels":{${many(n, (i) => `"${shuffled(i)}":""`)}}`)),
  'labels that begin alike': json((n) =>
    service(`"labels":{${many(20, (i) => `"${'k'.repeat(n)}${shuffled(i)}":""`)}}`),
  ),
  'owner references': json((n) => service(`"ownerReferences":[${many(n, (i) => `{"uid":"${i}"}`)}]`)),
  'list items that are null': json((n) => service('"uid":""', `"ports":[${many(n, () => 'null')}]`)),
  ports: json((n) => service('"uid":""', `"ports":[${many(n, (i) => `{"port":${i},"name":"p${i}"}`)}]`)),
  FieldsV1: json((n) => service(`"managedFields":[{"fieldsV1":{${many(n, (i) => `"f:${i}":{}`)}}}]`)),
  // YAML
  'YAML keys, each twice': yaml((n) => `${many(n, (i) => `k${i}: 1\n`, '')}${many(n, (i) => `k${i}: 1\n`, '')}`),
  'equal YAML keys': yaml((n) => 'a: 1\n'.repeat(n)),
  'YAML anchors': yaml((n) => `a:\n${many(n, (i) => `- &a${i} x\n`, '')}`),
  'YAML aliases': yaml((n) => `a: &a x\nb:\n${'- *a\n'.repeat(n)}`),
  'YAML aliases of a long text': yaml((n) => `a: &a ${'x'.repeat(n)}\nb:\n${'- *a\n'.repeat(n)}`),
  'YAML aliases that multiply': yaml(
    (n) => `a0: &a0 x\n${many(n / 40, (i) => `a${i + 1}: &a${i + 1} [${many(9, () => `*a${i}`)}]\n`, '')}`,
  ),
  'YAML merge keys': yaml((n) => `a: &a {x: 1}\nb:\n${'- {<<: *a}\n'.repeat(n)}`),
  'YAML merges of a large map': yaml((n) => `a: &a {${many(n, (i) => `k${i}: 1`)}}\nb:\n${'- {<<: *a}\n'.repeat(n)}`),
  'nested YAML blocks': yaml((n) => many(n / 20, (i) => `${' '.repeat(i)}a:\n`, '')),
  'nested YAML flows': yaml((n) => `${'[{a: '.repeat(n / 40)}${'}]'.repeat(n / 40)}`),
  'nested YAML keys': yaml((n) => `${'? '.repeat(n / 20)}x`),
  'nested YAML properties': yaml((n) => many(n / 40, (i) => `${' '.repeat(i)}&a\n${' '.repeat(i)}!!map k:\n`, '')),
  'YAML flow items': yaml((n) => `a: [${many(n, (i) => `k${i}`)}]`),
  'YAML pairs in a list': yaml((n) => `a: [${many(n, () => 'k: x')}]`),
  'YAML tags': yaml((n) => `a:\n${'- !!str x\n'.repeat(n)}`),
  'a long YAML tag': yaml((n) => `a: !${'x'.repeat(n)} y`),
  'YAML directives': yaml((n) => `${many(n, (i) => `%TAG !a${i}! tag:x,2000:\n`, '')}---\na: 1`),
  'YAML documents': yaml((n) => '--- a\n'.repeat(n)),
  'a long YAML text': yaml((n) => `a: ${'x '.repeat(n)}`),
  'lines of a YAML text': yaml((n) => `a: ${'x\n '.repeat(n)}`),
  'lines of a quoted YAML text that does not end': yaml((n) => `a: "${'x\n '.repeat(n)}`),
  'lines of a YAML block': yaml((n) => `a: >\n${' x\n\n'.repeat(n)}`),
  'digits of a YAML number': yaml(
    (n) => `a: 1${'_1'.repeat(n)}x\nb: 0o${'7'.repeat(n)}\nc: ${'1'.repeat(n)}.${'1'.repeat(n)}e`,
  ),
  'YAML comments': yaml((n) => '# x\n'.repeat(n)),
  // Protobuf
  'protobuf list items': protobuf((n) =>
    field(
      2,
      times(n, () => field(1, empty)),
    ),
  ),
  'protobuf map entries': protobuf((n) =>
    field(
      1,
      times(n, (i) => field(11, field(1, Buffer.from(`${shuffled(i)}`)))),
    ),
  ),
  'protobuf fields that come again': protobuf((n) => times(n, () => field(1, field(1, Buffer.from('a'))))),
  'unknown protobuf fields': protobuf((n) => times(n, () => field(500, empty))),
  'FieldsV1 in protobuf': protobuf((n) =>
    field(
      1,
      times(n, (i) => field(17, field(7, field(1, Buffer.from(`{"f:${i}":{}}`))))),
    ),
  ),
  'nested FieldsV1 in protobuf': protobuf((n) =>
    field(1, field(17, field(7, field(1, Buffer.from('{"f:a":'.repeat(n)))))),
  ),
  'a flood of an envelope': (n) => {
    const body = Buffer.concat([Buffer.from('k8s\0'), times(n, () => field(2, empty))]);
    return { length: body.length, read: () => decodeEnvelope(body) };
  },
  'a flood of delete options': (n) => {
    const raw = times(n, () => field(5, Buffer.from('All')));
    return { length: raw.length, read: () => decodeProtobuf(deleteOptions, raw) };
  },
  // Scalars
  'digits of a quantity': (n) => {
    const node = { status: { capacity: { cpu: `${'1'.repeat(n)}x` } } };
    return { length: n, read: () => decode(nodeKind.schema, node) };
  },
  'digits of a time': json((n) => service(`"creationTimestamp":"2024-01-01T00:00:00.${'1'.repeat(n)}x"`)),
  base64: (n) => {
    const secret = { data: { a: `${'QUJD\n'.repeat(n)}*` } };
    return { length: n, read: () => decode(secretKind.schema, secret) };
  },
  'digits of an IPv4 address': text((n) => '1'.repeat(n), parseAddress),
  'dots of an IPv4 address': text((n) => '1.'.repeat(n), parseAddress),
  'colons of an IPv6 address': text((n) => '::'.repeat(n), parseAddress),
  'parts of an IPv6 address': text((n) => '1:'.repeat(n), parseAddress),
  'digits of a prefix length': text((n) => `10.0.0.0/${'0'.repeat(n)}`, parseCidr),
  'a long label': text((n) => `${'a-'.repeat(n)}!`, names.dnsLabelErrors),
  'a long subdomain': text((n) => `${'a-a.'.repeat(n)}!`, names.dnsSubdomainErrors),
  'a long wildcard': text((n) => `*.${'a-a.'.repeat(n)}!`, names.wildcardSubdomainErrors),
  'a long label value': text((n) => `${'a.'.repeat(n)}!`, names.labelValueErrors),
  'a long qualified name': text((n) => `${'a.'.repeat(n)}/${'a.'.repeat(n)}!`, names.qualifiedNameErrors),
  'a long port name': text((n) => `${'a-'.repeat(n)}!`, names.portNameErrors),
  'a long path behind a domain': text((n) => `a/${'%'.repeat(n)} `, names.domainPrefixedPathErrors),
  'terms of a label selector': text((n) => many(n, (i) => `!a${i}`), parseLabelSelector),
  'values of a label selector': text(
    (n) => `a in (${many(n, (i) => `a${i}`)})`,
    (given) => {
      const selector = parseLabelSelector(given);
      for (let index = 0; index < 100; index++) matchesLabels(selector, { a: 'z' });
    },
  ),
  'digits in a label selector': text((n) => `a>${'1'.repeat(n)}`, parseLabelSelector),
  'terms of a field selector': text((n) => 'a=b,'.repeat(n), parseFieldSelector),
  'escapes in a field selector': text((n) => `a=${'\\,'.repeat(n)}`, parseFieldSelector),
  // Headers and parameters
  'clauses of an Accept header': text(
    (n) => many(n, (i) => `a/b;q=0.${shuffled(i)}`),
    (given) => negotiate(given, { transformations: [], protobuf: true }),
  ),
  'parameters of an Accept header': text(
    (n) => `a/b${many(n, (i) => `;a${i}=b`, '')}`,
    (given) => negotiate(given, { transformations: [], protobuf: true }),
  ),
  'segments of a URL': text(
    (n) => `/api${'/%61'.repeat(n)}?${many(n, (i) => `a${i}=%61`, '&')}`,
    (url) => parseRequest('GET', url),
  ),
  'values of a query': text(
    (n) => many(n, () => 'dryRun=x', '&'),
    (query) => parseWriteOptions(new URLSearchParams(query), 'CreateOptions'),
  ),
  'a long field manager': text(
    (n) => `fieldManager=${'a'.repeat(n)}`,
    (query) => parseWriteOptions(new URLSearchParams(query), 'CreateOptions'),
  ),
  'a long continue token': text((n) => Buffer.from(`{"v":"${'a'.repeat(n)}"}`).toString('base64url'), decodeToken),
  'a long Authorization header': text((n) => `Bearer ${'a '.repeat(n)}`, bearerToken),
  'protocols of a WebSocket': text((n) => many(n, (i) => `base64url.bearer.${i}`), protocolToken),
  'impersonation headers': (n) => {
    const headers = Array.from({ length: n }, () => ['Impersonate-Extra-a%61', 'x', 'Impersonate-Group', 'g']).flat();
    return { length: n, read: () => readImpersonation(headers) };
  },
  // Responses
  warnings: (n) => {
    const warnings = Array.from({ length: n }, (_, index) => `unknown field "a${index}\\"`);
    return { length: n, read: () => warningHeaders(warnings) };
  },
  'field errors': (n) => {
    const errors = Array.from({ length: n }, (_, index) => invalidValue(`spec.ports[${index}]`, 'x', 'is not'));
    return { length: n, read: () => [joinErrors(errors), causesOf(errors)] };
  },
};
