/** Texts of refusals for the events of pods. */
import { describe, expect, it } from '@jest/globals';
import type { Cause } from '../../../../src/engine/causes/cause.ts';
import { refusalNoteOf, withoutCommand } from '../../../../src/engine/causes/pod-verdict.ts';

const POD = { namespace: 'shop', name: 'web-1' };
const cause = (offered: string): Cause => ({
  ...{ code: 'devices', object: { kind: 'NodePool', name: 'gpu' }, field: '', wanted: '', offered },
  remedy: 'Allow other instance types.',
});
const COMMAND = ' All reasons: karpenter explain pod web-1 -n shop';

describe('the text of a refusal in an event', () => {
  it('is the cause, the remedy and the reasons of all NodePools if this is short', () => {
    expect(refusalNoteOf(POD, { cause: cause('is static'), text: 'NodePool gpu is static' })).toBe(
      'NodePool "gpu" is static. Allow other instance types. Details: NodePool gpu is static',
    );
    expect(refusalNoteOf(POD, { text: 'no dynamic nodepools found' })).toBe('no dynamic nodepools found');
  });

  it('is the cause and the remedy with the command for the reasons if they are long', () => {
    const text = 'incompatible with nodepool, '.repeat(40);
    expect(refusalNoteOf(POD, { cause: cause('is static'), text })).toBe(
      `NodePool "gpu" is static. Allow other instance types.${COMMAND}`,
    );
  });

  it('ends after a word within 250 characters, and always has the command', () => {
    for (let length = 1; length <= 400; length += 7) {
      const note = refusalNoteOf(POD, { cause: cause('word '.repeat(length)), text: 'x'.repeat(300) });
      expect(note.endsWith(COMMAND)).toBe(true);
      const own = note.slice(0, -COMMAND.length);
      expect(own.length).toBeLessThanOrEqual(250);
      if (own.endsWith('…')) expect(own).toMatch(/ (?:word|\.|Allow|other|instance)…$/);
    }
    expect(refusalNoteOf(POD, { text: 'x'.repeat(300) })).toBe(`${'x'.repeat(249)}…${COMMAND}`);
  });

  it('is shown without the command where all reasons are shown', () => {
    expect(withoutCommand(refusalNoteOf(POD, { text: 'a b '.repeat(100) }))).not.toContain('karpenter');
    expect(withoutCommand('no room')).toBe('no room');
  });
});
