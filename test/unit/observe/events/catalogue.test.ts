import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#api/objects';
import { EVENTS } from '../../../../scripts/reference/event-catalogue.ts';
import { type EventDeclaration, eventOf } from '../../../../src/observe/events/declaration.ts';
import { LEADER_ELECTION } from '../../../../src/observe/events/objects.ts';
import { NOMINATED, POD_HELD } from '../../../../src/observe/events/pods.ts';

const pod: KubeObject = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'pod', namespace: 'default' } };

describe('the catalogue of events', () => {
  it('declares each reason once per kind of object, always with the same type', () => {
    const places = EVENTS.flatMap(({ reason, about }) => about.map((kind) => `${reason} of ${kind}`));
    expect(places.filter((place, index) => places.indexOf(place) !== index)).toEqual([]);
    const types = Map.groupBy(EVENTS, ({ reason }) => reason);
    for (const [, events] of types) expect(new Set(events.map(({ type }) => type)).size).toBe(1);
  });

  it.each(
    EVENTS.map((event) => [`${event.reason} of ${event.about.join(' and ')}`, event] as const),
  )('declares %s well', (_, { reason, about, meaning, key, windowMs }) => {
    expect(reason).toMatch(/^[A-Z][A-Za-z]+$/);
    expect(about.length).toBeGreaterThan(0);
    expect(meaning).toMatch(/^[A-Z].*[^.]\.$/);
    expect(key).not.toBe('');
    if (windowMs !== undefined) expect(key).toBeDefined();
  });
});

describe('eventOf', () => {
  it('copies reason, type, window and limit from the declaration', () => {
    const held = POD_HELD.message('noon', 'why');
    expect(eventOf(POD_HELD, pod, { message: held, dedupe: ['a'] })).toEqual({
      object: pod,
      type: 'Warning',
      reason: 'PodHeld',
      message: 'No nodes are launched for this pod until noon: why',
      dedupe: ['a'],
      windowMs: 300_000,
    });
    const nominated = eventOf(NOMINATED, pod, { message: NOMINATED.message(['node/a']), dedupe: [] });
    expect(nominated.limit).toEqual({ name: 'nominated', qps: 5, burst: 10 });
  });

  it('requires a key if the declaration has one, and otherwise forbids it', () => {
    expect(eventOf(LEADER_ELECTION, pod, { message: 'text' })).not.toHaveProperty('dedupe');
    // @ts-expect-error no key is declared
    eventOf(LEADER_ELECTION, pod, { message: 'text', dedupe: ['a'] });
    // @ts-expect-error a key is declared
    eventOf(POD_HELD, pod, { message: 'text' });
    // @ts-expect-error no declaration
    const literal: EventDeclaration = { reason: 'A', type: 'Normal', about: ['Pod'], meaning: 'A.' };
    expect(literal.reason).toBe('A');
  });
});
