import type { Container, PodSpec } from './schema.ts';

type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

const counted = ['cpu', 'memory'] as const;

/** The quality of service that a Pod's requests and limits amount to. */
export function qosClass(spec: PodSpec): QosClass {
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  if (containers.every(isSilent)) return 'BestEffort';
  return containers.every(isGuaranteed) ? 'Guaranteed' : 'Burstable';
}

const isSilent = ({ resources: { limits = {}, requests = {} } }: Container): boolean =>
  counted.every((name) => limits[name] === undefined && requests[name] === undefined);

// Equal amounts that are spelled differently (1 and 1000m) count as different here.
const isGuaranteed = ({ resources: { limits = {}, requests = {} } }: Container): boolean =>
  counted.every((name) => limits[name] !== undefined && `${limits[name]}` === `${requests[name] ?? limits[name]}`);
