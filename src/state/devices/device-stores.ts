/** Stores of dynamic resources. The cluster may not serve these kinds, and the operator may not be permitted to read them. */
import {
  DEVICE_CLASS,
  DEVICE_TAINT_RULE,
  type DeviceClass,
  type DeviceTaintRule,
  type Kind,
  type KubeObject,
  type Pod,
  RESOURCE_CLAIM,
  RESOURCE_CLAIM_TEMPLATE,
  RESOURCE_SLICE,
  type ResourceClaim,
  type ResourceClaimTemplate,
  type ResourceSlice,
} from '#api/objects';
import { isTerminal, type Snapshot } from '#engine/model';
import type { Informers, Store } from '#kube/client';

export interface DeviceStores {
  readonly claims: Store<ResourceClaim>;
  readonly slices: Store<ResourceSlice>;
  readonly classes: Store<DeviceClass>;
  /** Served since Kubernetes 1.37. */
  readonly taintRules: Store<DeviceTaintRule>;
  readonly templates: Store<ResourceClaimTemplate>;
}

type DeviceLists = Pick<
  Snapshot,
  | 'resourceClaims'
  | 'resourceSlices'
  | 'deviceClasses'
  | 'deviceTaintRules'
  | 'resourceClaimTemplates'
  | 'missingDeviceKinds'
  | 'vanishedConsumers'
>;

export function openDeviceStores(informers: Informers): DeviceStores {
  const open = <T extends KubeObject>(kind: Kind<T>): Store<T> => informers.store(kind, {}, { optional: true });
  return {
    claims: open(RESOURCE_CLAIM),
    slices: open(RESOURCE_SLICE),
    classes: open(DEVICE_CLASS),
    taintRules: open(DEVICE_TAINT_RULE),
    templates: open(RESOURCE_CLAIM_TEMPLATE),
  };
}

/** Returns the part of a snapshot that describes dynamic resources. Empty while they are ignored. */
export function deviceLists(stores: DeviceStores | undefined, pods: Pick<Store<Pod>, 'get'>): DeviceLists {
  if (stores === undefined) return {};
  const { claims, slices, classes, taintRules, templates } = stores;
  const missing = [claims, slices, classes].filter(({ synced }) => !synced).map(({ kind }) => kind.plural);
  const vanished = vanishedConsumers(claims.list(), pods);
  return {
    resourceClaims: claims.list(),
    resourceSlices: slices.list(),
    deviceClasses: classes.list(),
    deviceTaintRules: taintRules.list(),
    resourceClaimTemplates: templates.list(),
    ...(missing.length > 0 && { missingDeviceKinds: missing }),
    ...(vanished.length > 0 && { vanishedConsumers: vanished }),
  };
}

/**
 * Returns the UIDs of pods that claims are reserved for although the pods ended or do not exist. The claim controller removes
 * these reservations some time later.
 */
const vanishedConsumers = (claims: readonly ResourceClaim[], pods: Pick<Store<Pod>, 'get'>): readonly string[] => [
  ...new Set(
    claims.flatMap(({ metadata: { namespace = 'default' }, status }) =>
      (status?.reservedFor ?? []).flatMap(({ apiGroup = '', resource, name, uid }) => {
        const pod = apiGroup === '' && resource === 'pods' ? pods.get({ namespace, name }) : undefined;
        const isPresent = pod === undefined ? resource !== 'pods' : pod.metadata.uid === uid && !isTerminal(pod);
        return isPresent ? [] : [uid];
      }),
    ),
  ),
];
