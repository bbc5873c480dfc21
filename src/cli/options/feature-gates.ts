import type { GateName, Gates, GateStage } from '../../api/gates.ts';
import { gateNames, gateSpecs, gatesWith, isGateName } from '../../api/gates.ts';
import { UsageError } from '../errors.ts';
import type { Flag, Settings } from './flags.ts';
import { flagError } from './flags.ts';

export const featureGatesFlag: Flag = {
  name: 'feature-gates',
  value: 'A=true,...',
  description: 'feature gates to set; see `fairlead gates`',
  repeatable: true,
};

/** Reads `--feature-gates`. */
export function readFeatureGates(settings: Settings): GateSettings {
  const text = settings.get('feature-gates')?.join(',') ?? '';
  return flagError('feature-gates', text, () => parseFeatureGates(text));
}

/** The gates of `--feature-gates`, and the warnings that Kubernetes logs for them. */
export interface GateSettings {
  readonly gates: Gates;
  /** The gates that were set by name, without those of AllAlpha and AllBeta. */
  readonly explicit: ReadonlyMap<string, boolean>;
  readonly warnings: readonly string[];
}

const stageSwitches: Readonly<Record<string, GateStage>> = { AllAlpha: 'ALPHA', AllBeta: 'BETA' };
const trueWords = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const falseWords = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/** Reads `A=true,B=false`. Messages are Kubernetes'. */
export function parseFeatureGates(text: string): GateSettings {
  const settings = new Map<string, boolean>();
  for (const item of text.split(',')) {
    const pair = item.trim();
    if (pair === '') continue;
    const [name, value] = readPair(pair);
    checkKnown(name, value);
    settings.set(name, value);
  }
  return { gates: gatesWith(effective(settings)), explicit: settings, warnings: warningsFor(settings) };
}

function readPair(pair: string): [name: string, value: boolean] {
  const [rawName = '', ...rest] = pair.split('=');
  const name = rawName.trim();
  if (rest.length === 0) throw new UsageError(`missing bool value for ${name}`);
  const value = rest.join('=').trim();
  if (trueWords.has(value)) return [name, true];
  if (falseWords.has(value)) return [name, false];
  throw new UsageError(
    `invalid value of ${name}=${value}, err: strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`,
  );
}

function checkKnown(name: string, value: boolean): void {
  if (Object.hasOwn(stageSwitches, name)) return;
  if (!isGateName(name)) throw new UsageError(`unrecognized feature gate: ${name}`);
  const spec = gateSpecs[name];
  if (spec.locked && value !== spec.default) {
    throw new UsageError(`cannot set feature gate ${name} to ${value}, feature is locked to ${spec.default}`);
  }
}

/** A gate set by name wins over AllAlpha and AllBeta, whatever the order. */
function effective(settings: ReadonlyMap<string, boolean>): Partial<Record<GateName, boolean>> {
  const values: Partial<Record<GateName, boolean>> = {};
  for (const name of gateNames) {
    const [stageSwitch] = Object.entries(stageSwitches).find(([, stage]) => stage === gateSpecs[name].stage) ?? [];
    const value = settings.get(name) ?? (stageSwitch === undefined ? undefined : settings.get(stageSwitch));
    if (value !== undefined) values[name] = value;
  }
  return values;
}

const warningsFor = (settings: ReadonlyMap<string, boolean>): string[] =>
  gateNames
    .filter((name) => gateSpecs[name].stage === 'GA' && settings.has(name))
    .map((name) => `Setting GA feature gate ${name}=${settings.get(name)}. It will be removed in a future release.`);
