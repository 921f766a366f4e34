/** What the world's own parts ask of an API server. An object that is gone or in the way is found out by the status alone. */
import type { Kind } from '../api/kinds.ts';
import type { KubeObject } from '../api/kubernetes.ts';
import { ApiError, type Ref } from '../kube/client.ts';

export { ApiError } from '../kube/client.ts';

export interface PatchOptions {
  readonly subresource?: 'status';
  /** Default `merge`. */
  readonly type?: 'merge' | 'strategic' | 'json';
}

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly uid?: string | undefined;
}

export const isGone = (error: unknown): boolean => error instanceof ApiError && error.status === 404;
export const isConflict = (error: unknown): boolean => error instanceof ApiError && error.status === 409;

/** Requests that the world's own parts make. */
export interface ObjectClient {
  /** Answers undefined when it does not exist. */
  find<T extends KubeObject>(kind: Kind<T>, ref: Ref): Promise<T | undefined>;
  create<T extends KubeObject>(kind: Kind<T>, object: T): Promise<T>;
  /** Posts `body` to a subresource, as a pod's binding. */
  post(kind: Kind, ref: Ref, subresource: string, body: unknown): Promise<unknown>;
  patch<T extends KubeObject>(kind: Kind<T>, ref: Ref, patch: unknown, options?: PatchOptions): Promise<T>;
  /** Answers what the server says: the object while it is still terminating, else its last state or a Status. */
  delete<T extends KubeObject>(kind: Kind<T>, ref: Ref, options?: DeleteOptions): Promise<T | undefined>;
}
