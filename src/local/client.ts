/** API client of the parts of the local world. Missing and conflicting objects are detected by status only. */
import type { Kind, KubeObject } from '#api/objects';
import { ApiError, type Ref } from '#kube/client';

export { ApiError } from '#kube/client';

interface PatchOptions {
  readonly subresource?: 'status';
  /** Default `merge`. */
  readonly type?: 'merge' | 'strategic' | 'json';
}

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly uid?: string | undefined;
}

export const isGone = (error: unknown): boolean => error instanceof ApiError && error.status === 404;
export const isAnyConflict = (error: unknown): boolean => error instanceof ApiError && error.status === 409;

/** Requests of the parts of the local world. */
export interface ObjectClient {
  /** Returns undefined if this object does not exist. */
  find<T extends KubeObject>(kind: Kind<T>, ref: Ref): Promise<T | undefined>;
  create<T extends KubeObject>(kind: Kind<T>, object: T): Promise<T>;
  /** Posts `body` to a subresource, such as the binding of a pod. */
  post(kind: Kind, ref: Ref, subresource: string, body: unknown): Promise<unknown>;
  patch<T extends KubeObject>(kind: Kind<T>, ref: Ref, patch: unknown, options?: PatchOptions): Promise<T>;
  /** Returns the response of the server: the object while it is terminating, or else its last state or a Status. */
  delete<T extends KubeObject>(kind: Kind<T>, ref: Ref, options?: DeleteOptions): Promise<T | undefined>;
}
