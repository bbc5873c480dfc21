import type { ApiObject } from '../../api/metadata.ts';
import type { ServerContext } from '../context.ts';
import type { User } from '../reply.ts';

/** A question that has been decoded, defaulted and validated. */
export interface Question<T extends ApiObject = ApiObject> {
  readonly object: T;
  /** Who asks. */
  readonly user: User;
  readonly context: ServerContext;
}

/** Answers a question with the object that the asker gets back. */
export type Reviewer = (question: Question) => ApiObject | Promise<ApiObject>;
