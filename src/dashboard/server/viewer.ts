// A person who uses the dashboard.
import type { Board, RightsIn } from './board.ts';
import { allRights } from './rights.ts';

/** What one person may see. */
export interface Viewer extends Disposable {
  /** Sees everything that the dashboard itself may read. */
  readonly isOwner: boolean;
  /** The clusters that they may see at all. */
  readonly sees: (cluster: string) => boolean;
  readonly rightsIn: RightsIn;
  /** Whether they are still signed in to a cluster. */
  readonly isValid: boolean;
  /** Whether `rightsIn` was called for a namespace that has to be reviewed first; it returns no rights until then. */
  readonly hasUnknown: boolean;
  /** Reviews the rights if that was not done within the last seconds. Resolves with whether they changed. */
  readonly review: () => Promise<boolean>;
}

/** The person who started the dashboard: they have its rights. */
export const owner: Viewer = {
  isOwner: true,
  isValid: true,
  hasUnknown: false,
  sees: () => true,
  rightsIn: () => allRights,
  review: async () => false,
  [Symbol.dispose]: () => undefined,
};

/** Runs `work` with reviewed rights, and again if it read namespaces that had to be reviewed first. */
export async function reviewed<T>(viewer: Viewer, work: () => Promise<T>): Promise<T> {
  await viewer.review();
  try {
    const result = await work();
    if (!viewer.hasUnknown) return result;
  } catch (error) {
    if (!viewer.hasUnknown) throw error;
  }
  await viewer.review();
  return work();
}

/** Reviews the rights in all namespaces that have rows. */
export async function reviewAll({ rightsIn, review }: Viewer, board: Board): Promise<void> {
  for (const feed of board.feeds) for (const namespace of feed.namespaces()) rightsIn(feed.cluster.name, namespace);
  await review();
}
