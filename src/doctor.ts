/**
 * Program of the doctor in the image, which `helm test` runs with the service account of the operator. It reads the names
 * of the cluster and the queue from the environment, as the operator does.
 */
import { examine } from '#aws/doctor';
import { findingsText } from '#cli/findings';
import { VERSION } from '#lib';

const { CLUSTER_NAME: clusterName, INTERRUPTION_QUEUE: interruptionQueue } = process.env;
try {
  const findings = await examine({ clusterName, interruptionQueue, version: VERSION });
  process.stdout.write(findingsText(findings));
  if (findings.some(({ level }) => level === 'error')) process.exitCode = 1;
} catch (error) {
  process.stderr.write(`karpenter doctor: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
