import { describe, expect, it } from '@jest/globals';
import type { EventNote } from '../../../src/kube/events.ts';
import { eventTap } from '../../../src/kube/events.ts';

const note = (reason: string) => ({ reason }) as unknown as EventNote;

describe('an event tap', () => {
  it('publishes events and passes later events to the listener', () => {
    const published: EventNote[] = [];
    const heard: EventNote[] = [];
    const tap = eventTap({ publish: (...notes) => void published.push(...notes) });
    tap.events.publish(note('first'));
    tap.onNote = (...notes) => void heard.push(...notes);
    tap.events.publish(note('second'), note('third'));
    expect(published.map(({ reason }) => reason)).toEqual(['first', 'second', 'third']);
    expect(heard.map(({ reason }) => reason)).toEqual(['second', 'third']);
  });
});
