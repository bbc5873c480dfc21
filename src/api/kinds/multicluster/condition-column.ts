import { column } from '../../columns.ts';
import type { Column } from '../../kind.ts';
import type { ApiObject } from '../../metadata.ts';

/** An object with conditions in its status. */
interface Conditioned extends ApiObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** A column with the status of a condition. */
export const conditionColumn = (type: string, description: string): Column<Conditioned> =>
  column(
    type,
    description,
    ({ status }) => status?.conditions?.find((condition) => condition.type === type)?.status ?? '',
    { path: `.status.conditions[?(@.type=="${type}")].status` },
  );

export const conflictColumn = conditionColumn('Conflict', 'Whether the exports of clusters conflict.');
