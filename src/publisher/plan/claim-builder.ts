// Names, targets and ports → the record sets of one claim.
import { canonicalAddress, dashed } from '../../api/addresses.ts';
import type { ExposedPort, Exposure } from '../../api/kinds/core/service/exposure.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Name } from '../../dnswire/data.ts';
import { printName } from '../../dnswire/name.ts';
import type { Publication } from './annotations.ts';
import type { Claim, Refusal } from './claim.ts';
import { recordSet } from './record-set.ts';
import { isEncodable, isWildcard, parseHostname } from './zones.ts';

/** A ready endpoint of a headless service. */
interface PublishedEndpoint {
  readonly addresses: readonly string[];
  readonly hostname: string | undefined;
}

/** The endpoints of one slice and the ports they serve. */
export interface PublishedEndpoints {
  readonly endpoints: readonly PublishedEndpoint[];
  readonly ports: readonly ExposedPort[];
}

/** Splits targets into addresses and host names. */
export function targetsOf(targets: readonly string[]): Pick<Exposure, 'addresses' | 'hostnames'> {
  const addresses = targets.flatMap((target) => canonicalAddress(target) ?? []);
  return { addresses, hostnames: targets.filter((target) => canonicalAddress(target) === undefined) };
}

interface BuilderSettings {
  readonly publication: Publication;
  readonly ttl: number;
}

interface CollectedSet {
  readonly name: Name;
  readonly type: string;
  readonly hostname: Name;
  readonly values: string[];
}

/** The most records of one object. Its host names, ports and targets multiply, so that a small object can claim millions. */
const maxRecords = 20_000;

/** Collects the sets of one object. */
export class ClaimBuilder {
  readonly #object: ApiObject;
  readonly #kind: string;
  readonly #publication: Publication;
  readonly #ttl: number;
  /** `name type` → its values. */
  readonly #values = new Map<string, CollectedSet>();
  readonly #refusals: Refusal[] = [];
  #records = 0;

  constructor(object: ApiObject, kind: string, { publication, ttl }: BuilderSettings) {
    this.#object = object;
    this.#kind = kind;
    this.#publication = publication;
    this.#ttl = publication.ttl ?? ttl;
    for (const message of publication.errors) this.#refuse('InvalidAnnotation', message);
  }

  /** The valid ones of the names that annotations list. */
  hostnames(texts: readonly string[]): readonly Name[] {
    return texts.flatMap((text) => {
      const parsed = parseHostname(text);
      if ('name' in parsed) return [parsed.name];
      this.#refuse('InvalidHostname', parsed.error);
      return [];
    });
  }

  /** Adds the addresses, or the alias, and the SRV records of a name. */
  addExposure(name: Name, { addresses, hostnames, ports }: Exposure, missing: Refusal): void {
    if (this.#isFull) return;
    const [first, ...more] = [...new Set(hostnames)];
    if (addresses.length === 0 && first === undefined)
      return this.#refuse(missing.reason, `${name} has no target: ${missing.message}`);
    if (addresses.length > 0) {
      for (const address of addresses) this.#add(name, addressType(address), address);
      if (first !== undefined)
        this.#refuseTargets(name, [first, ...more], `it has addresses, which an alias cannot join`);
    } else if (first !== undefined) {
      this.#add(name, 'CNAME', printName(first.toLowerCase()));
      if (more.length > 0) this.#refuseTargets(name, more, `a name can be an alias of one host only, here ${first}`);
    }
    // RFC 2782: the target of an SRV record must not be an alias.
    const targets = addresses.length > 0 ? [name] : hostnames.map((each) => each.toLowerCase());
    for (const port of ports) {
      for (const target of targets) this.#addSrv(name, port, target);
      if (this.#isFull) return;
    }
  }

  /** Adds all addresses of a headless service, a name for each endpoint, and SRV records to these. */
  addEndpoints(name: Name, slices: readonly PublishedEndpoints[]): void {
    const hasEndpoints = slices.some(({ endpoints }) => endpoints.some(({ addresses }) => addresses.length > 0));
    if (!hasEndpoints) this.#refuse('Pending', `${name} has no target: no endpoint is ready`);
    for (const { endpoints, ports } of slices) {
      const hasSrv = ports.some(({ label }) => label !== '') && !isWildcard(name);
      for (const { addresses, hostname } of endpoints) {
        if (this.#isFull) return;
        for (const address of addresses) {
          this.#add(name, addressType(address), address);
          if (hostname === undefined && !hasSrv) continue;
          const own = `${hostname ?? dashed(address)}.${name}`;
          if (!isEncodable(own) || isWildcard(name)) continue;
          this.#add(own, addressType(address), address, name);
          for (const port of ports) this.#addSrv(name, port, own);
        }
      }
    }
  }

  claim(): Claim {
    const { namespace = '', name = '', creationTimestamp = '' } = this.#object.metadata;
    const claim = {
      resource: `${this.#kind}/${namespace}/${name}`,
      namespace,
      since: creationTimestamp,
      refusals: this.#refusals,
      properties: this.#publication.properties,
    };
    if (this.#isFull) {
      const message = `it claims more than ${maxRecords} records, so none is changed: use fewer host names or ports`;
      return { ...claim, sets: [], refusals: [...claim.refusals, { reason: 'TooManyRecords', message }], isKept: true };
    }
    return {
      ...claim,
      sets: [...this.#values.values()].map(({ hostname, ...each }) => ({
        ...recordSet(each.name, each.type, { ttl: this.#ttl, values: each.values }),
        ...(hostname === each.name ? {} : { hostname }),
      })),
    };
  }

  get #isFull(): boolean {
    return this.#records > maxRecords;
  }

  /** A wildcard owns no SRV records: `*` is special only as the first label (RFC 4592 §2.1.1). */
  #addSrv(name: Name, { label, protocol, port }: ExposedPort, target: Name): void {
    const owner = `_${label}._${protocol.toLowerCase()}.${name}`;
    if (label === '' || isWildcard(name) || !isEncodable(owner)) return;
    this.#add(owner, 'SRV', `0 100 ${port} ${printName(target)}`, name);
  }

  #add(name: Name, type: string, value: string, hostname = name): void {
    if (++this.#records > maxRecords) return;
    const key = `${name} ${type}`;
    const known = this.#values.get(key);
    if (known === undefined) this.#values.set(key, { name, type, hostname, values: [value] });
    else known.values.push(value);
  }

  #refuseTargets(name: Name, targets: readonly string[], why: string): void {
    const more = targets.length > 3 ? ` and ${targets.length - 3} more` : '';
    this.#refuse('ConflictingTargets', `${name}: ${targets.slice(0, 3).join(', ')}${more} left out: ${why}`);
  }

  #refuse(reason: Refusal['reason'], message: string): void {
    this.#refusals.push({ reason, message });
  }
}

const addressType = (address: string): 'A' | 'AAAA' => (address.includes(':') ? 'AAAA' : 'A');
