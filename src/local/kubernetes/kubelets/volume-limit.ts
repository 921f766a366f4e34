/** How many volumes the EBS CSI driver attaches to a node, which it publishes in the CSINode. */
import { DAEMON_SET } from '../../../api/kinds.ts';
import type { LocalInstance } from '../../aws/types.ts';
import type { ObjectClient } from '../../client.ts';
import type { RunContainer } from './container-timing.ts';
import { wholeNumber } from './userdata/config.ts';
import { options } from './userdata/flags.ts';

/** Where the driver's chart puts it. */
const DRIVER = { name: 'ebs-csi-node', namespace: 'kube-system' };

/**
 * The limit that the driver's own flags set, or else what the machine can have.
 *
 * @param fallback of machines whose hardware tells nothing
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
  // below zero the driver counts the volumes of the machine's own launch, which the maximum leaves out already
  return reserved < 0 ? fallback : Math.max(1, most - reserved);
}
