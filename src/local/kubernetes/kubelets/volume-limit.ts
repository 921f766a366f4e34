/** Number of volumes that the EBS CSI driver can attach to a node. The driver publishes it in the CSINode. */
import { DAEMON_SET } from '../../../api/kinds.ts';
import type { LocalInstance } from '../../aws/types.ts';
import type { ObjectClient } from '../../client.ts';
import type { RunContainer } from './container-timing.ts';
import { wholeNumber } from './userdata/config.ts';
import { options } from './userdata/flags.ts';

/** DaemonSet of the driver's chart. */
const DRIVER = { name: 'ebs-csi-node', namespace: 'kube-system' };

/**
 * Returns the limit of the driver's own flags, otherwise the limit of the machine.
 *
 * @param fallback limit of machines with unknown hardware
 */
export async function volumeLimitOf(client: ObjectClient, instance: LocalInstance, fallback: number): Promise<number> {
  const driver = await client.find(DAEMON_SET, DRIVER);
  const flags = options(
    driver?.spec.template.spec.containers.flatMap(({ args = [] }: RunContainer) => [...args]) ?? [],
  );
  const fixed = wholeNumber(flags.get('volume-attach-limit'));
  if (fixed !== undefined && fixed >= 0) return fixed;
  const reserved = wholeNumber(flags.get('reserved-volume-attachments')) ?? -1;
  const most = instance.hardware.EbsInfo?.MaximumEbsAttachments ?? fallback;
  // if it is negative, the driver counts the volumes of the machine's own launch, which the maximum already excludes
  return reserved < 0 ? fallback : Math.max(1, most - reserved);
}
