/** Publishes events about annotations of pods that are not valid. */
import { controllerOf, POD, type Pod, uidOf } from '#api/objects';
import { annotationProblems } from '#engine/explanations';
import { isTerminal } from '#engine/model';
import { type Reconciler, settled } from '#kube/reconcilers';
import { eventOf, INVALID_ANNOTATION } from '#observe/events';
import type { Deps } from './deps.ts';

/** The pods of a workload have the same annotations, so the first of them gets the event. */
export const annotationEvents = ({ events }: Pick<Deps, 'events'>): Reconciler<Pod> => ({
  name: 'pod.annotations',
  watches: POD,
  concurrency: 1,
  // events have only the annotations of the product, and most pods have none
  filter: (pod, event, before) =>
    event !== 'deleted' &&
    pod.metadata.annotations !== before?.metadata.annotations &&
    annotationProblems(pod).length > 0,

  async reconcile(pod) {
    if (isTerminal(pod) || pod.metadata.deletionTimestamp !== undefined) return settled;
    const owner = controllerOf(pod)?.uid ?? uidOf(pod);
    for (const { text } of annotationProblems(pod)) {
      const message = INVALID_ANNOTATION.message(text);
      events.publish(eventOf(INVALID_ANNOTATION, pod, { message, dedupe: [owner, message] }));
    }
    return settled;
  },
});
