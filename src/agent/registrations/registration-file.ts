// A file that registers a process which runs already: a small YAML document. No clock, no I/O.
import { canonicalAddress } from '../../api/addresses.ts';
import { dnsLabelErrors } from '../../api/names.ts';
import { parseYaml } from '../../api/schema/yaml.ts';

/** How the health of a registered process is found out. */
export type RegisteredCheck =
  | { readonly kind: 'none' }
  | { readonly kind: 'tcp' }
  | { readonly kind: 'http'; readonly path: string }
  | { readonly kind: 'systemd'; readonly unit: string };

export interface RegisteredProcess {
  readonly namespace: string;
  readonly service: string;
  readonly address: string;
  readonly port: number;
  readonly check: RegisteredCheck;
  readonly intervalSeconds: number;
}

/** An error in a registration, with the field and what is expected. */
class RegistrationError extends Error {}

const fields = ['namespace', 'service', 'address', 'port', 'check', 'intervalSeconds'];
const defaultIntervalSeconds = 10;

/** Parses a registration. Throws a RegistrationError. */
export function parseRegistration(text: string): RegisteredProcess {
  let value: unknown;
  try {
    ({ value } = parseYaml(text));
  } catch (error) {
    throw new RegistrationError(`not YAML: ${String(error)}`, { cause: error });
  }
  if (typeof value !== 'object' || value === null) throw new RegistrationError('expected a YAML object');
  const object = new Map<string, unknown>(Object.entries(value));
  const unknown = [...object.keys()].find((key) => !fields.includes(key));
  if (unknown !== undefined) throw new RegistrationError(`unknown field "${unknown}": expected ${fields.join(', ')}`);
  const textOf = (key: string, fallback: string): string => {
    const found = object.get(key) ?? fallback;
    return typeof found === 'string' ? found : fail(key, 'a text', found);
  };
  const numberOf = (key: string, fallback: number, most: number): number => {
    const found = object.get(key) ?? fallback;
    return typeof found === 'number' && Number.isInteger(found) && found >= 1 && found <= most
      ? found
      : fail(key, `a number from 1 to ${most}`, found);
  };
  const label = (key: string, fallback: string): string => {
    const found = textOf(key, fallback);
    return dnsLabelErrors(found).length === 0 ? found : fail(key, 'a DNS label', found);
  };
  const address = textOf('address', '');
  return {
    namespace: label('namespace', 'default'),
    service: label('service', ''),
    address: canonicalAddress(address) ?? fail('address', 'an IP address', address),
    port: numberOf('port', 0, 65_535),
    check: checkOf(textOf('check', 'tcp')),
    intervalSeconds: numberOf('intervalSeconds', defaultIntervalSeconds, 3600),
  };
}

/** Parses a check: `tcp`, `http:/path`, `systemd:UNIT` or `none`. Throws a RegistrationError. */
export function checkOf(text: string): RegisteredCheck {
  if (text === 'tcp' || text === 'none') return { kind: text };
  if (text.startsWith('http:/')) return { kind: 'http', path: text.slice('http:'.length) };
  if (/^systemd:[\w@.:-]+$/.test(text)) return { kind: 'systemd', unit: text.slice('systemd:'.length) };
  return fail('check', 'tcp, http:/PATH, systemd:UNIT or none', text);
}

function fail(field: string, expected: string, found: unknown): never {
  throw new RegistrationError(`${field}: ${JSON.stringify(found)}: expected ${expected}`);
}
