import { YAMLException } from 'js-yaml';
import { messageOf } from '../../api/error-message.ts';
import { UsageError } from '../errors.ts';

/** What is wrong with a YAML file, as one line that editors can jump to: `file:line:column: reason`. */
export function yamlError(file: string, error: unknown): UsageError {
  const { mark, reason } = error instanceof YAMLException ? error : {};
  const place = mark === undefined ? '' : `:${mark.line + 1}:${mark.column + 1}`;
  return new UsageError(`${file}${place}: ${reason ?? messageOf(error)}`, { cause: error });
}
