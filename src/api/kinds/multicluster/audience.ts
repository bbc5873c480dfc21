// The audience of an export: the members of the set that import it.
import { messageOf } from '../../error-message.ts';
import type { LabelSelector } from '../../selectors/labels.ts';
import { matchesLabels, parseLabelSelector } from '../../selectors/labels.ts';
import { clusterIdErrors } from './cluster-id.ts';

/** On an export of either API: its audience. Without it every member imports the service. */
export const audienceAnnotation = 'fairlead.dev/audience';

/** A parsed audience: members with one of the ids, or with labels that one of the selectors matches. */
export interface Audience {
  /** The annotation. */
  readonly text: string;
  readonly ids: readonly string[];
  readonly selectors: readonly LabelSelector[];
  /** Why it is invalid, with the fix. An invalid audience includes no member. */
  readonly problem?: string | undefined;
}

/** A member as an audience selects it. */
export interface AudienceMember {
  readonly id: string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** An annotation has up to 256 KiB, and every member is compared with every entry. */
const maxEntries = 256;

/** Parses an audience: ids of members and label selectors, separated by semicolons; ids also by commas. */
export function parseAudience(text: string): Audience {
  const entries = text
    .split(';')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  const invalid = (problem: string): Audience => ({ text, ids: [], selectors: [], problem });
  if (entries.length === 0) return invalid(`it is empty: ${expected}, or remove it`);
  const ids: string[] = [];
  const selectors: LabelSelector[] = [];
  for (const entry of entries) {
    if (/[=!<>()]/.test(entry)) {
      try {
        selectors.push(parseLabelSelector(entry));
      } catch (error) {
        return invalid(`"${shortened(entry)}" is not a label selector: ${messageOf(error)}; ${expected}`);
      }
    } else {
      const named = entry.split(',').map((id) => id.trim());
      const wrong = named.find((id) => id === '' || clusterIdErrors(id).length > 0);
      if (wrong !== undefined) return invalid(`"${shortened(wrong)}" is not the id of a member; ${expected}`);
      ids.push(...named);
    }
    if (ids.length + selectors.length > maxEntries)
      return invalid(`it has more than ${maxEntries} entries: use labels`);
  }
  return { text, ids, selectors };
}

const expected = 'write ids of members and selectors of their labels, such as "east, west; tier=prod"';

const maxQuoted = 80;

const shortened = (text: string): string => (text.length > maxQuoted ? `${text.slice(0, maxQuoted)}…` : text);

/** Whether an audience includes a member. */
export const audienceIncludes = ({ ids, selectors, problem }: Audience, { id, labels = {} }: AudienceMember): boolean =>
  problem === undefined && (ids.includes(id) || selectors.some((selector) => matchesLabels(selector, labels)));
