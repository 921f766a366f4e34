/** The local AWS as a back end. */
import { realClock } from '#lib/clock';
import { startAws } from '#local/testing';
import { type Backend, CLUSTER, REGION, recordingClients } from './backend.ts';

export async function openLocal(): Promise<Backend> {
  const aws = await startAws({
    clock: realClock(),
    clusterName: CLUSTER,
    region: REGION,
    startDelayMs: 10,
    stopDelayMs: 10,
  });
  Object.assign(process.env, aws.env());
  return {
    ...(await recordingClients()),
    send: async (message) => aws.queue.send(message),
    close: () => aws.close(),
  };
}
