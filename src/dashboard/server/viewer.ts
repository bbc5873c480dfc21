// A person who looks at the dashboard.
import type { RightsIn } from './board.ts';
import { allRights } from './rights.ts';

/** What one person may see. */
export interface Viewer extends Disposable {
  /** Sees everything that the dashboard itself may read. */
  readonly isOwner: boolean;
  /** The clusters that they may see at all. */
  readonly sees: (cluster: string) => boolean;
  readonly rightsIn: RightsIn;
  /** Reviews the rights if that was not done within the last seconds. Resolves with whether they changed. */
  readonly review: () => Promise<boolean>;
}

/** The person who started the dashboard: they have its rights. */
export const owner: Viewer = {
  isOwner: true,
  sees: () => true,
  rightsIn: () => allRights,
  review: async () => false,
  [Symbol.dispose]: () => undefined,
};
