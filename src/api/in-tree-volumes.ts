/** Volumes of plugins that were part of Kubernetes, and the CSI drivers that replaced these plugins. */
import { own } from '#lib';

export const EBS_DRIVER = 'ebs.csi.aws.com';

const DRIVERS: Readonly<Record<string, string>> = { 'kubernetes.io/aws-ebs': EBS_DRIVER };

/** Returns the driver of the volumes that a provisioner creates. */
export const driverOfProvisioner = (provisioner: string): string => own(DRIVERS, provisioner) ?? provisioner;

interface InTreeVolume {
  readonly awsElasticBlockStore?: { readonly volumeID?: string };
}

/**
 * Returns the driver and the volume ID of a volume of a former plugin, or undefined for other volumes. The plugin also accepts
 * IDs such as `aws://us-west-2a/vol-1`.
 * @param name ID of a volume without an ID
 */
export function inTreeVolume(
  { awsElasticBlockStore: disk }: InTreeVolume,
  name: string,
): { readonly driver: string; readonly id: string } | undefined {
  if (disk === undefined) return undefined;
  const { volumeID: id = name } = disk;
  return { driver: EBS_DRIVER, id: id.slice(id.lastIndexOf('/') + 1) };
}
