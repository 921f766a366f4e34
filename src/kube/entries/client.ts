export {
  ApiError,
  type Indexes,
  type Informers,
  isConflict,
  isNotFound,
  type KubeClient,
  type KubeReader,
  type ListOptions,
  type Ref,
  type Store,
  type StoreListener,
  type WatchEvent,
} from '../client.ts';
export { closedFence, type Fence, Leadership, NotPermitted, openFence } from '../fence.ts';
export { fixedInformers } from '../fixed-informers.ts';
export { pageCount } from '../pages.ts';
export { deleteExactly, unlessGone, writeChanges } from '../patch.ts';
export { objectPath } from '../paths.ts';
export { sharedFields, shareParts } from '../shared-parts.ts';
export { keyOf, ObjectStore, refOf } from '../store.ts';
export { ConnectionError, type Exchange } from '../transport.ts';
export { trimmedObject, trimmedPodWith, withoutManagedFields } from '../trimmed-object.ts';
