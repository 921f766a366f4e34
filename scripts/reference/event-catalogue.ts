/** Every event that the operator publishes, for the reference page and for tests. */
import { awsEvents } from '#aws/testing';
import {
  deviceEvents,
  disruptionEvents,
  nodeClaimEvents,
  nodeEvents,
  nodePoolEvents,
  podEvents,
} from '#observe/catalogues';
import { CLOCK_SKEWED, conditionChanged, FINALIZED, LEADER_ELECTION, MEMORY_SHORT } from '#observe/events';
import type { EventDeclaration } from '#observe/testing';

const { INVALID_GPU_SHARING, ...ec2Events } = awsEvents;

interface EventArea {
  readonly title: string;
  readonly events: readonly EventDeclaration[];
}

export const EVENT_AREAS: readonly EventArea[] = [
  { title: 'Pods', events: Object.values(podEvents) },
  { title: 'NodePools', events: Object.values(nodePoolEvents) },
  { title: 'NodeClaims', events: Object.values(nodeClaimEvents) },
  { title: 'Nodes', events: Object.values(nodeEvents) },
  { title: 'Devices', events: [...Object.values(deviceEvents), INVALID_GPU_SHARING] },
  { title: 'Disruption', events: Object.values(disruptionEvents) },
  { title: 'EC2', events: Object.values(ec2Events) },
  {
    title: 'Any object',
    events: [conditionChanged('CONDITION'), FINALIZED, LEADER_ELECTION, CLOCK_SKEWED, MEMORY_SHORT],
  },
];

export const EVENTS: readonly EventDeclaration[] = EVENT_AREAS.flatMap(({ events }) => events);
