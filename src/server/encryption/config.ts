import type { FieldError } from '../../api/field-errors.ts';
import { invalidValue, joinErrors, required } from '../../api/field-errors.ts';
import { decode } from '../../api/schema/decode.ts';
import type { Infer } from '../../api/schema/infer.ts';
import { list, optional, pointer, string, struct } from '../../api/schema/schema.ts';
import { parseYaml } from '../../api/schema/yaml.ts';

const key = struct('Key', 'A key.', {
  name: optional(0, string, 'The name, which is stored with each value.'),
  secret: optional(0, string, 'The key itself, in base64.'),
});
const keyed = struct('KeyedConfiguration', 'The keys of a provider; the first one writes.', {
  keys: optional(0, list(key), 'The keys.'),
});
const provider = struct('ProviderConfiguration', 'One provider.', {
  aesgcm: pointer(0, keyed, 'AES-GCM with a random nonce.'),
  aescbc: pointer(0, keyed, 'AES-CBC with PKCS#7 padding.'),
  secretbox: pointer(0, keyed, 'XSalsa20 and Poly1305.'),
  identity: pointer(0, struct('IdentityConfiguration', 'No encryption.', {}), 'No encryption.'),
  kms: pointer(0, struct('KMSConfiguration', 'A key management service.', {}, { open: true }), 'Not supported.'),
});
const configuration = struct('EncryptionConfiguration', 'How resources are stored.', {
  apiVersion: optional(0, string, 'apiserver.config.k8s.io/v1'),
  kind: optional(0, string, 'EncryptionConfiguration'),
  resources: optional(
    0,
    list(
      struct('ResourceConfiguration', 'The providers of some resources.', {
        resources: optional(
          0,
          list(string),
          'Resources as PLURAL or PLURAL.GROUP; `*.GROUP`, `*.` and `*.*` for many.',
        ),
        providers: optional(0, list(provider), 'The providers; the first one writes.'),
      }),
    ),
    'The resources with their providers.',
  ),
});

export type EncryptionConfiguration = Infer<typeof configuration>;
type Provider = Infer<typeof provider>;

const keyLengths = { aesgcm: [16, 24, 32], aescbc: [16, 24, 32], secretbox: [32] } as const;
export type KeyedProvider = keyof typeof keyLengths;

/** A key with its bytes. */
export interface EncryptionKey {
  readonly name: string;
  readonly secret: Buffer;
}

/** A provider: identity or a cipher with keys. */
export type StorageProvider =
  | { readonly type: 'identity' }
  | { readonly type: KeyedProvider; readonly keys: readonly EncryptionKey[] };

/** Resources as `PLURAL.GROUP` (`secrets.`, `*.apps`, `*.*`; the core group is empty), and their providers. */
export type ResourceProviders = ReadonlyMap<string, readonly StorageProvider[]>;

const expectedVersion = 'apiserver.config.k8s.io/v1';
const expectedKind = 'EncryptionConfiguration';

/** Parses an EncryptionConfiguration in YAML or JSON. Errors have Kubernetes' messages and never contain keys. */
export function parseEncryptionConfiguration(text: string): ResourceProviders {
  const { value, duplicates } = parseYaml(text);
  const { object, unknown } = decode<EncryptionConfiguration>(configuration, value);
  const { apiVersion = '', kind = '' } = object;
  if (apiVersion !== expectedVersion || kind !== expectedKind) {
    throw new Error(
      `expected ${expectedKind} of ${expectedVersion}, found kind "${kind}" of apiVersion "${apiVersion}"`,
    );
  }
  const problems = [...duplicates, ...unknown];
  if (problems.length > 0) throw new Error(`strict decoding error: ${problems.join(', ')}`);
  const errors = validate(object);
  if (errors.length > 0) throw new Error(joinErrors(errors));
  return resourceProviders(object);
}

function resourceProviders({ resources = [] }: EncryptionConfiguration): ResourceProviders {
  const all = new Map<string, readonly StorageProvider[]>();
  for (const { resources: names = [], providers = [] } of resources) {
    for (const name of names) {
      const { resource, group } = parsed(name);
      const full = `${resource}.${group}`;
      const mask = [`*.${group}`, '*.*'].find((wildcard) => all.has(wildcard) && wildcard !== full);
      if (mask !== undefined) throw new Error(`resource "${name}" is masked by earlier rule "${mask}"`);
      all.set(full, [...(all.get(full) ?? []), ...providers.map(storageProvider)]);
    }
  }
  return all;
}

function storageProvider(each: Provider): StorageProvider {
  for (const type of keyedProviders) {
    const keys = each[type]?.keys;
    if (keys === undefined) continue;
    return {
      type,
      keys: keys.map(({ name = '', secret = '' }) => ({ name, secret: Buffer.from(secret, 'base64') })),
    };
  }
  return { type: 'identity' };
}

const keyedProviders = ['aesgcm', 'aescbc', 'secretbox'] as const satisfies readonly KeyedProvider[];

/** Splits `plural.group`; the core group is empty. */
function parsed(name: string): { readonly resource: string; readonly group: string } {
  const dot = name.indexOf('.');
  return dot < 0 ? { resource: name, group: '' } : { resource: name.slice(0, dot), group: name.slice(dot + 1) };
}

function validate({ resources = [] }: EncryptionConfiguration): readonly FieldError[] {
  if (resources.length === 0) return [required('resources', 'at least one resources is required')];
  return resources.flatMap(({ resources: names = [], providers = [] }, index) => {
    const [r, p] = [`resources[${index}].resources`, `resources[${index}].providers`];
    return [
      ...(names.length === 0 ? [required(r, `at least one ${r} is required`)] : []),
      ...overlapErrors(names, r),
      ...names.flatMap((name, at) => nameErrors(name, `${r}[${at}]`)),
      ...(providers.length === 0 ? [required(p, `at least one ${p} is required`)] : []),
      ...providers.flatMap((each, at) => providerErrors(each, `${p}[${at}]`)),
    ];
  });
}

function overlapErrors(names: readonly string[], path: string): readonly FieldError[] {
  const hasDuplicate = new Set(names).size < names.length;
  const distinct = [...new Set(names)].map(parsed);
  const hasOverlap = distinct.some(
    (left) =>
      left.resource === '*' &&
      distinct.some((right) => right !== left && (left.group === '*' || left.group === right.group)),
  );
  const masked =
    "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked";
  return [
    ...(hasDuplicate ? [invalidValue(path, names, 'the same resource cannot be specified multiple times')] : []),
    ...(hasOverlap ? [invalidValue(path, names, masked)] : []),
  ];
}

const allocations = ['apiserveripinfo', 'serviceipallocations', 'servicenodeportallocations'];

function nameErrors(name: string, path: string): readonly FieldError[] {
  const { resource, group } = parsed(name);
  const why =
    name.toLowerCase() !== name
      ? 'resource name should not contain capital letters'
      : name === '*'
        ? "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"
        : allocations.includes(name)
          ? 'resources which do not have REST API/s cannot be encrypted'
          : group === 'events.k8s.io'
            ? "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file"
            : group === 'extensions'
              ? "'extensions' group has been removed and cannot be used for encryption"
              : group === '*' && resource !== '*'
                ? 'encrypting the same resource across groups is not supported'
                : undefined;
  return why === undefined ? [] : [invalidValue(path, name, why)];
}

function providerErrors(each: Provider, path: string): readonly FieldError[] {
  // Only the names of the providers: the error must not print keys.
  const found = Object.keys(each);
  if (found.length === 0) {
    const why = 'provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity';
    return [invalidValue(path, {}, why)];
  }
  if (found.length > 1) {
    const why = 'more than one provider specified in a single element, should split into different list elements';
    return [invalidValue(path, found, why)];
  }
  if (each.kms !== undefined) {
    return [invalidValue(`${path}.kms`, 'REDACTED', 'KMS providers are not supported: use aesgcm or secretbox')];
  }
  return keyedProviders.flatMap((type) => {
    const configured = each[type];
    return configured === undefined ? [] : keysErrors(configured.keys ?? [], `${path}.${type}.keys`, keyLengths[type]);
  });
}

function keysErrors(
  keys: readonly Infer<typeof key>[],
  path: string,
  lengths: readonly number[],
): readonly FieldError[] {
  if (keys.length === 0) return [required(path, 'at least one keys is required')];
  return keys.flatMap(({ name = '', secret = '' }, index) => [
    ...(name === '' ? [required(`${path}[${index}].name`, 'name is a mandatory field for a key')] : []),
    ...secretErrors(secret, `${path}[${index}].secret`, lengths),
  ]);
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** Longer than any valid key. */
const maxSecretLength = 1024;

function secretErrors(secret: string, path: string, lengths: readonly number[]): readonly FieldError[] {
  if (secret === '') return [required(path, 'secret is a mandatory field for a key')];
  if (secret.length > maxSecretLength || !base64.test(secret)) {
    return [invalidValue(path, 'REDACTED', 'secrets must be base64 encoded')];
  }
  const { length } = Buffer.from(secret, 'base64');
  if (lengths.includes(length)) return [];
  const why = `secret is not of the expected length, got ${length}, expected one of [${lengths.join(' ')}]`;
  return [invalidValue(path, 'REDACTED', why)];
}
