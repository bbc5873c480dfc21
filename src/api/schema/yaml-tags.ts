// The YAML dialect of sigs.k8s.io/yaml: the scalars of YAML 1.1 without base-60 numbers and timestamps, merge keys, and
// keys converted to strings.

import {
  defineMappingTag,
  defineScalarTag,
  FAILSAFE_SCHEMA,
  mergeTag,
  NOT_RESOLVED,
  nullYaml11Tag,
  type Schema,
} from 'js-yaml';

const trueWords = new Set(['y', 'Y', 'yes', 'Yes', 'YES', 'on', 'On', 'ON', 'true', 'True', 'TRUE']);
const falseWords = new Set(['n', 'N', 'no', 'No', 'NO', 'off', 'Off', 'OFF', 'false', 'False', 'FALSE']);

const boolTag = defineScalarTag<boolean>('tag:yaml.org,2002:bool', {
  implicit: true,
  resolve: (source) => (trueWords.has(source) ? true : falseWords.has(source) ? false : NOT_RESOLVED),
  identify: () => false,
});

const integerPattern = /^[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|0|[1-9][0-9_]*)$/;
const octalPattern = /^0[0-7]/;
const finiteFloatPattern = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

function resolveInteger(source: string): number | typeof NOT_RESOLVED {
  if (!integerPattern.test(source)) return NOT_RESOLVED;
  const digits = source.replace(/^[-+]/, '').replaceAll('_', '');
  const value = octalPattern.test(digits) ? Number.parseInt(digits, 8) : Number(digits);
  if (!Number.isFinite(value)) return NOT_RESOLVED;
  return source.startsWith('-') ? -value : value;
}

const intTag = defineScalarTag<number>('tag:yaml.org,2002:int', {
  implicit: true,
  resolve: resolveInteger,
  identify: () => false,
});

/** A number out of range for JSON is a string, as in Go. */
function resolveFloat(source: string): number | typeof NOT_RESOLVED {
  const value = finiteFloatPattern.test(source) ? Number(source) : Number.NaN;
  return Number.isFinite(value) ? value : NOT_RESOLVED;
}

const floatTag = defineScalarTag<number>('tag:yaml.org,2002:float', {
  implicit: true,
  resolve: resolveFloat,
  identify: () => false,
});

/** A mapping with its duplicate keys. */
export class YamlMap {
  readonly entries = new Map<string, unknown>();
  readonly duplicates = new Set<string>();
  /** Keys from a merge (`<<`), which may be set once more. */
  readonly merged = new Set<string>();
}

/** The key as Go prints it; undefined if Go rejects it. */
const keyText = (key: unknown): string | undefined =>
  typeof key === 'string' || typeof key === 'number' || typeof key === 'boolean' ? String(key) : undefined;

function addPair(map: YamlMap, key: unknown, value: unknown): string {
  const name = keyText(key);
  if (name === undefined) return 'unsupported map key: it must be a string, a number or a boolean';
  if (map.entries.has(name) && !map.merged.delete(name)) map.duplicates.add(name);
  map.entries.set(name, value);
  return '';
}

/** Called only for merges, which add the key next if it is missing. */
function hasForMerge(map: YamlMap, key: unknown): boolean {
  const name = keyText(key) ?? '';
  if (map.entries.has(name)) return true;
  map.merged.add(name);
  return false;
}

const mapTag = defineMappingTag<YamlMap>('tag:yaml.org,2002:map', {
  create: () => new YamlMap(),
  addPair,
  has: hasForMerge,
  keys: (map) => map.entries.keys(),
  get: (map, key) => map.entries.get(String(key)),
  identify: () => false,
});

/** The tags of Kubernetes' YAML; mappings become `YamlMap`s. */
export const kubernetesYaml: Schema = FAILSAFE_SCHEMA.withTags(
  nullYaml11Tag,
  boolTag,
  intTag,
  floatTag,
  mergeTag,
  mapTag,
);
