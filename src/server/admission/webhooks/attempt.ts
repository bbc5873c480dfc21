import type { Kind } from '../../../api/kind.ts';
import { kinds } from '../../../api/kinds/registry.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import type { User } from '../../reply.ts';

/** A write that is ready to be committed, as webhooks see it. */
export interface Attempt {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  /** In the version that the client wrote. */
  readonly kind: Kind;
  readonly subresource: string;
  /** What the object is to be; undefined when it is deleted. */
  readonly object: ApiObject | undefined;
  /** What it is; undefined when it is created. */
  readonly old: ApiObject | undefined;
  readonly user: User;
  readonly dryRun: boolean;
  /** CreateOptions, UpdateOptions or DeleteOptions, as they were sent. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** The object that an attempt is about, whatever becomes of it. */
export const subjectOfAttempt = ({ object, old }: Attempt): ApiObject => object ?? old ?? { metadata: {} };

/** In which kind objects are stored that are served in this one. */
const storageOf = (kind: Kind): Kind => kind.storage?.kind ?? kind;

/** Worked out once: most writes match no rule and ask for them. */
const byKind: ReadonlyMap<Kind, readonly Kind[]> = new Map(
  kinds.map((kind) => [kind, kinds.filter((other) => other !== kind && storageOf(other) === storageOf(kind))]),
);

/** The kinds in which the same objects are served: other versions, and for Events another group. */
export const equivalents = (kind: Kind): readonly Kind[] => byKind.get(kind) ?? [];

/** An object of one kind as another shows it, through the form in which both are stored. */
export function converted(object: ApiObject, from: Kind, to: Kind): ApiObject {
  if (from === to) return object;
  const stored = from.storage === undefined ? object : from.storage.toStorage(object);
  return to.storage === undefined ? stored : to.storage.fromStorage(stored);
}
