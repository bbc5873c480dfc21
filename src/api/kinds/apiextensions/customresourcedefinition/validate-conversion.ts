import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidValue, notSupported, required } from '../../../field-errors.ts';
import { dns1035LabelErrors } from '../../../names.ts';
import { clientConfigErrors } from '../../admissionregistration/validate-client.ts';
import type { CrdConversion } from './schema.ts';

const strategies = ['None', 'Webhook'];
const knownVersions = ['v1', 'v1beta1'];

/** The errors of the conversion between versions. Paths are those of Kubernetes' internal version. */
export function conversionErrors({ strategy, webhook }: CrdConversion, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (strategy === '') errors.push(required(`${path}.strategy`));
  else if (!strategies.includes(strategy)) errors.push(notSupported(`${path}.strategy`, strategy, strategies));
  const config = webhook?.clientConfig;
  const versions = webhook?.conversionReviewVersions ?? [];
  const at = `${path}.webhookClientConfig`;
  if (strategy !== 'Webhook') {
    const why = 'should not be set when strategy is not set to Webhook';
    if (config !== undefined) errors.push(forbiddenField(at, why));
    if (versions.length > 0) errors.push(forbiddenField(`${path}.conversionReviewVersions`, why));
    return errors;
  }
  if (config === undefined) errors.push(required(at, 'required when strategy is set to Webhook'));
  else errors.push(...clientConfigErrors(at, config));
  return [...errors, ...versionErrors(versions, `${path}.conversionReviewVersions`)];
}

function versionErrors(versions: readonly string[], path: string): FieldError[] {
  if (versions.length === 0) return [required(path)];
  const seen = new Set<string>();
  const errors = versions.flatMap((version, index) => {
    const problems = seen.has(version) ? ['duplicate version'] : dns1035LabelErrors(version);
    seen.add(version);
    return problems.map((problem) => invalidValue(`${path}[${index}]`, version, problem));
  });
  if (versions.some((version) => knownVersions.includes(version))) return errors;
  return [...errors, invalidValue(path, versions, `must include at least one of ${knownVersions.join(', ')}`)];
}
