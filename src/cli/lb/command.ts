import { text as readStream } from 'node:stream/consumers';

import { messageOf } from '../../api/error-message.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { Era, Row } from '../../loadbalancer/inspect.ts';
import { eras, isCreated, priceBook, rowFor, serviceIn } from '../../loadbalancer/inspect.ts';
import type { Call, Command } from '../command.ts';
import { UsageError } from '../errors.ts';
import { pricesFlag, pricesOf } from '../loadbalancer/prices.ts';
import { featureGatesFlag, readFeatureGates } from '../options/feature-gates.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { outputFlag, readFlag, textOf } from '../options/flags.ts';
import { countBetween, listOf, oneOf } from '../options/values.ts';
import { columns } from '../../api/text.ts';
import { rendered } from '../output.ts';
import type { Manifest } from '../up/manifests.ts';
import { parseManifests, readManifests } from '../up/manifests.ts';
import { choicesOf, printRows } from './rows.ts';

const cloudFlags: readonly Flag[] = [
  {
    name: 'provider',
    value: 'LIST',
    description: 'clouds such as aws,gce, or kinds of load balancers such as aws/nlb',
    default: 'all',
  },
  {
    name: 'era',
    value: 'ERA',
    description: 'the clouds as of July 2020 or today',
    choices: eras,
    default: 'today',
  },
  pricesFlag,
  outputFlag,
];

/** `fairlead lb`: how clouds implement a Service, and its cost. Needs no cluster. */
export const command: Command = {
  description: 'Show how each cloud implements a LoadBalancer Service, and its cost, before it is created.',
  examples: ['fairlead lb plan -f dns.yaml', 'fairlead lb providers --era 2020-07'],
  flags: [],
  actions: {
    plan: {
      summary: 'print load balancers and costs of the Services in a manifest',
      examples: ['fairlead lb plan -f dns.yaml', 'fairlead lb plan -f dns.yaml --provider gce,azure --other-units 4'],
      flags: [
        {
          name: 'filename',
          short: 'f',
          value: 'FILE',
          description: 'file or directory of manifests; - for standard input',
        },
        {
          name: 'other-units',
          value: 'N',
          description: 'rules of other Services, where clouds count rules of several Services together',
          default: '0',
        },
        featureGatesFlag,
        ...cloudFlags,
      ],
      run: showPlans,
    },
    providers: {
      summary: 'list the clouds and their kinds of load balancers',
      examples: ['fairlead lb providers', 'fairlead lb providers --era 2020-07'],
      flags: cloudFlags,
      run: showProviders,
    },
  },
};

async function showPlans({ settings, streams: { out } }: Call): Promise<number> {
  const filename = textOf(settings, 'filename');
  if (filename === undefined) throw new UsageError('no Services to plan: pass -f FILE');
  const era = eraOf(settings);
  const choices = choicesOf(providersOf(settings), era);
  const { gates } = readFeatureGates(settings);
  const options = {
    era,
    isMixingAllowed: gates.enabled('MixedProtocolLBService'),
    prices: pricesOf(settings) ?? priceBook,
    otherUnits: readFlag(settings, 'other-units', countBetween(0, 999_999), 0),
  };
  const services = await readServices(filename);
  const plans = services.map((service) => ({
    service: { namespace: service.metadata.namespace ?? 'default', name: service.metadata.name ?? '' },
    ports: portsOf(service),
    providers: choices.map((choice) => rowFor(service, choice, options)),
  }));
  const lines = (): readonly string[] =>
    plans.flatMap(({ service, ports, providers }, index) => [
      ...(index === 0 ? [] : ['']),
      `${service.namespace}/${service.name}  ${ports}`,
      ...columns(printRows(providers)),
      ...footnotes(providers),
    ]);
  out(await rendered(settings, plans, lines));
  return 0;
}

/** The LoadBalancer Services of a file, a directory or, for `-`, of standard input; other objects are ignored. */
async function readServices(path: string): Promise<readonly Service[]> {
  const manifests = path === '-' ? parseManifests(await readStream(process.stdin), 'standard input') : await read(path);
  const services = manifests
    .filter(({ apiVersion, kind }) => apiVersion === 'v1' && kind === 'Service')
    .map(readService);
  const balanced = services.filter(({ spec }) => spec.type === 'LoadBalancer');
  if (balanced.length > 0) return balanced;
  const why =
    services.length > 0
      ? `${services.length === 1 ? '1 Service' : `${services.length} Services`}, but none of type LoadBalancer`
      : 'no Service';
  throw new UsageError(`there is ${why} in ${path === '-' ? 'standard input' : path}`);
}

async function read(path: string): Promise<readonly Manifest[]> {
  try {
    return await readManifests(path);
  } catch (error) {
    throw new UsageError(messageOf(error).replace(/^cannot read --apply /, 'cannot read -f '), { cause: error });
  }
}

/** A validated Service with its defaults. */
function readService({ object, source }: Manifest): Service {
  try {
    return serviceIn(object);
  } catch (error) {
    throw new UsageError(`${source}: ${messageOf(error)}`, { cause: error });
  }
}

function footnotes(rows: readonly Row[]): readonly string[] {
  const dates = [...new Set(rows.map(({ bill }) => bill.asOf))].toSorted().join(', ');
  const scopes = new Map(
    rows
      .filter(isCreated)
      .flatMap(({ provider, bill: { threshold } }) =>
        threshold === undefined ? [] : [[provider, threshold] as const],
      ),
  );
  return [
    `* requested by this Service; USD are prices of ${dates}; ? depends on the operator`,
    ...Array.from(
      scopes,
      ([provider, { included, scope }]) =>
        `${provider}: the base price is for ${included} of ${scope}, each further one is extra`,
    ),
  ];
}

async function showProviders({ settings, streams: { out } }: Call): Promise<number> {
  const prices = pricesOf(settings) ?? priceBook;
  const rows = choicesOf(providersOf(settings), eraOf(settings)).map(({ cloud, product }) => ({
    provider: cloud.name,
    ...product,
    price: prices[`${cloud.name}/${product.name}`]?.[product.era],
  }));
  const lines = (): readonly string[] =>
    columns([
      ['PROVIDER', 'KIND', 'PROTOCOLS', 'APPLICATION', 'MIXED', 'COUNTED', 'PRICE', 'REQUESTED BY'],
      ...rows.map((row) => [
        row.provider,
        row.name,
        row.l4.join('+'),
        row.l7.join('+') || '-',
        mixingWords[row.mixed],
        row.unit,
        row.price?.model.type ?? '-',
        row.askedBy,
      ]),
    ]);
  out(await rendered(settings, rows, lines));
  return 0;
}

const eraOf = (settings: Settings): Era => readFlag(settings, 'era', oneOf(eras), 'today');

const providersOf = (settings: Settings): readonly string[] => readFlag(settings, 'provider', listOf(String), []);

const mixingWords = { none: 'no', distinctPorts: 'not on one number', samePort: 'yes' } as const;

const portsOf = ({ spec: { ports = [] } }: Service): string =>
  ports.map(({ port, protocol = 'TCP' }) => `${port}/${protocol}`).join(', ');
