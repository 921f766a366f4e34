/** References from objects to the controllers that own them. */
import { controllerOf, type KubeObject, type OwnerReference } from '#api/objects';

export const isOwnedBy = (object: KubeObject, owner: KubeObject): boolean =>
  controllerOf(object)?.uid === owner.metadata.uid;

export const ownerReference = ({ apiVersion, kind, metadata }: KubeObject): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid ?? '',
  controller: true,
  blockOwnerDeletion: true,
});

/** Index by the UID of the controller. */
export const controllerUid = (object: KubeObject): string | undefined => controllerOf(object)?.uid;
