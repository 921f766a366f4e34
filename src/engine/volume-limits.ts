/** Declares limits of attached volumes, and counts them as resources of instance types. */

/** Maximum number of attached volumes by CSI driver. A driver without a limit is absent. */
export type VolumeLimits = Readonly<Record<string, number>>;

/** Volumes by driver. A volume that several pods share uses one slot. The texts are unique across drivers. */
export type VolumesByDriver = ReadonlyMap<string, ReadonlySet<string>>;

/** Volume on a node, by the driver that attached it and by the name of its PersistentVolume. */
export interface AttachedVolume {
  readonly driver: string;
  readonly volume: string;
}

const PREFIX = 'attachable-volumes-csi-';

/** Returns the name under which the volumes of a driver count as a resource of instance types. */
export const slotResource = (driver: string): string => `${PREFIX}${driver}`;

/** Reports whether a resource counts volumes. No pod can request such a resource. */
export const countsVolumes = (resource: string): boolean => resource.startsWith(PREFIX);

/** Returns the limits as resources. */
export const slotsAsResources = (limits: VolumeLimits): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(limits).map(([driver, most]) => [slotResource(driver), most]));
