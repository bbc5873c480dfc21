// What errors of AWS mean for what is to be done next.
import { messageOf } from '../../../api/error-message.ts';
import { RetryError } from '../../controller/provider.ts';

/** How long AWS is given when it asks for time, and does not say how much. */
const defaultRetryMs = 5000;
/** A load balancer is made within one to three minutes. */
export const provisioningMs = 10_000;

const throttlingErrors = new Set([
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
  'RequestLimitExceeded',
]);

/** What we knew is not so any more: what is there is looked at again. */
const staleErrors = new Set([
  'DependencyViolation', // of a security group, until the last of its load balancer is gone
  'DuplicateListenerException',
  'DuplicateLoadBalancerNameException',
  'DuplicateTargetGroupNameException',
  'InvalidGroup.Duplicate',
  'InvalidGroup.NotFound',
  'InvalidPermission.Duplicate',
  'InvalidPermission.NotFound',
  'ListenerNotFoundException',
  'LoadBalancerNotFoundException',
  'ResourceInUseException',
  'TargetGroupAssociationLimitException',
  'TargetGroupNotFoundException',
]);

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '');

/** Something is not there: success for those who wanted it gone. */
export const isGone = (error: unknown): boolean =>
  [
    'InvalidGroup.NotFound',
    'ListenerNotFoundException',
    'LoadBalancerNotFoundException',
    'TargetGroupNotFoundException',
  ].includes(nameOf(error));

/** A target cannot be registered, so that none of its call was. */
export const isInvalidTarget = (error: unknown): boolean => nameOf(error) === 'InvalidTargetException';

/** The error to go on with: one that says how long to wait, or what was being done. */
export function wrapError(error: unknown, what: string): unknown {
  const name = nameOf(error);
  if (error instanceof RetryError || name === 'AbortError') return error;
  const message = messageOf(error);
  if (isThrottling(error)) return new RetryError(`AWS wants to be asked more slowly: ${what}`, hintOf(error));
  if (staleErrors.has(name)) return new RetryError(`${what}: ${message}`, defaultRetryMs);
  if (name === 'CredentialsProviderError')
    return new Error(`no credentials for AWS: set AWS_PROFILE, or run with a role (${message})`, { cause: error });
  return new Error(`${what}: ${message}`, { cause: error });
}

function isThrottling(error: unknown): boolean {
  if (throttlingErrors.has(nameOf(error))) return true;
  const metadata = fieldOf(error, '$metadata');
  const status = fieldOf(metadata, 'httpStatusCode');
  return status === 429 || status === 503;
}

/** Seconds, as AWS says them in a header. */
function hintOf(error: unknown): number {
  const headers = fieldOf(fieldOf(error, '$response'), 'headers');
  const seconds = Number(fieldOf(headers, 'retry-after'));
  return seconds > 0 && seconds < 600 ? seconds * 1000 : defaultRetryMs;
}

/** The SDK's errors carry more than their type tells. */
const fieldOf = (value: unknown, field: string): unknown =>
  typeof value === 'object' && value !== null && field in value
    ? (value as Readonly<Record<string, unknown>>)[field]
    : undefined;
