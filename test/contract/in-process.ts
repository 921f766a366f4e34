/** The local AWS without HTTP as a back end. */
import { realClock } from '#lib/clock';
import { openAws } from '#local/aws';
import { inProcessClients } from '#replay/testing';
import { type Backend, CLUSTER, REGION, recording } from './backend.ts';

export async function openInProcess(): Promise<Backend> {
  const clock = realClock();
  const aws = openAws({ clock, clusterName: CLUSTER, region: REGION, startDelayMs: 10, stopDelayMs: 10 });
  return {
    ...recording(inProcessClients(aws, { clock })),
    send: async (message) => aws.queue.send(message),
    close: async () => aws.close(),
  };
}
