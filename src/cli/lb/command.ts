import type { Command } from 'commander';
import { Option } from 'commander';

import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { Era } from '../../loadbalancer/clouds/product.ts';
import { eras } from '../../loadbalancer/clouds/product.ts';
import type { PriceBook } from '../../loadbalancer/clouds/price/book.ts';
import { priceBook } from '../../loadbalancer/clouds/price/book.ts';
import { UsageError } from '../errors.ts';
import { flagError } from '../options/flags.ts';
import { parseFeatureGates } from '../options/feature-gates.ts';
import { readPrices } from '../loadbalancer/prices.ts';
import type { Streams } from '../output.ts';
import { columns, outputFlag, readOutput, rendered } from '../output.ts';
import type { Row } from './rows.ts';
import { choicesOf, isMade, printRows, rowFor } from './rows.ts';
import { readServices } from './services.ts';

interface LbFlags {
  readonly filename?: string;
  readonly provider: string;
  readonly era: Era;
  readonly otherUnits: string;
  readonly featureGates: string;
  readonly prices?: string;
}

/** `fairlead lb`: what clouds would make of a Service, and what that costs. Needs no cluster. */
export function define(command: Command): void {
  command
    .usage('plan|providers [flags]')
    .description(
      'Tell what each cloud would make of a LoadBalancer Service, and what it would cost, before it is made.',
    )
    .addHelpText(
      'before',
      `Example:
  fairlead lb plan -f dns.yaml
  fairlead lb plan -f dns.yaml --provider gce,azure --other-units 4
  fairlead lb providers --era seed
`,
    )
    .argument('<action>', 'plan or providers')
    .option('-f, --filename <FILE>', 'plan: manifests of Services, a file or a directory; - for standard input')
    .option('--provider <LIST>', 'clouds such as aws,gce, or kinds such as aws/nlb (default all)', '')
    .addOption(new Option('--era <ERA>', 'clouds as of July 2020, or today').choices([...eras]).default('today'))
    .option('--other-units <N>', 'plan: rules that other Services have where they count together', '0')
    .option('--feature-gates <LIST>', 'plan: settings such as MixedProtocolLBService=false', '')
    .option('--prices <FILE>', 'prices of today that you know better, as in examples/loadbalancer/prices.yaml')
    .addOption(outputFlag());
}

export async function execute(command: Command, streams: Streams): Promise<number> {
  const [action] = command.args;
  const flags = command.opts<LbFlags>();
  if (action === 'plan') return showPlans(command, flags, streams);
  if (action === 'providers') return showProviders(command, flags, streams);
  throw new UsageError(`unknown action "${action}" of lb: expected plan or providers`);
}

async function showPlans(command: Command, flags: LbFlags, { out }: Streams): Promise<number> {
  if (flags.filename === undefined) throw new UsageError('which Service? pass -f FILE');
  const choices = choicesOf(namesIn(flags.provider), flags.era);
  const { gates } = flagError('feature-gates', flags.featureGates, () => parseFeatureGates(flags.featureGates));
  const options = {
    era: flags.era,
    isMixingAllowed: gates.enabled('MixedProtocolLBService'),
    prices: pricesOf(flags),
    otherUnits: flagError('other-units', flags.otherUnits, () => wholeNumber(flags.otherUnits)),
  };
  const services = await readServices(flags.filename);
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
  out(await rendered(readOutput(command), plans, lines));
  return 0;
}

function footnotes(rows: readonly Row[]): readonly string[] {
  const dates = [...new Set(rows.map(({ bill }) => bill.asOf))].toSorted().join(', ');
  const scopes = new Map(
    rows
      .filter(isMade)
      .flatMap(({ provider, bill: { threshold } }) =>
        threshold === undefined ? [] : [[provider, threshold] as const],
      ),
  );
  return [
    `* what this Service asks for; USD are prices of ${dates}; ? is for the operator to say`,
    ...Array.from(
      scopes,
      ([provider, { included, scope }]) =>
        `${provider}: the base price is for ${included} of ${scope}, each further one is extra`,
    ),
  ];
}

async function showProviders(command: Command, flags: LbFlags, { out }: Streams): Promise<number> {
  const prices = pricesOf(flags);
  const rows = choicesOf(namesIn(flags.provider), flags.era).map(({ cloud, product }) => ({
    provider: cloud.name,
    ...product,
    price: prices[`${cloud.name}/${product.name}`]?.[product.era],
  }));
  const lines = (): readonly string[] =>
    columns([
      ['PROVIDER', 'KIND', 'PROTOCOLS', 'APPLICATION', 'MIXED', 'COUNTED', 'PRICE', 'ASKED FOR BY'],
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
  out(await rendered(readOutput(command), rows, lines));
  return 0;
}

const pricesOf = ({ prices }: LbFlags): PriceBook => (prices === undefined ? priceBook : readPrices(prices));

const mixingWords = { none: 'no', distinctPorts: 'not on one number', samePort: 'yes' } as const;

const namesIn = (list: string): readonly string[] => list.split(',').flatMap((name) => name.trim() || []);

const portsOf = ({ spec: { ports = [] } }: Service): string =>
  ports.map(({ port, protocol = 'TCP' }) => `${port}/${protocol}`).join(', ');

function wholeNumber(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new UsageError('expected a number from 0 to 999999');
  return Number(text);
}
