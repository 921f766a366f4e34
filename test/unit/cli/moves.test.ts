import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, jest } from '@jest/globals';
import type { MoveView } from '#controllers/testing';
import { movesCommand, movesText } from '../../../src/cli/moves.ts';
import { notAmong } from '../../../src/cli/render/known.ts';
import { at80, tooWide } from './at80.ts';

const move: MoveView = {
  id: '1',
  command: 'delete: [node-a]',
  method: 'emptiness',
  decision: 'delete',
  state: 'kept',
  startedAt: '2026-06-03T10:00:00Z',
  endsAt: '2026-06-03T10:30:00Z',
  nodePools: ['default'],
  workloads: [],
  predictedUsdPerHour: 0.1,
  predictedUsd: 0.05,
  realisedUsd: 0.045,
};
const undone: MoveView = {
  ...move,
  command: 'replace: [node-b] -> [1 replacement]',
  method: 'single-node consolidation',
  state: 'undone',
  undone: { at: '2026-06-03T10:10:00Z', because: 'bought-again', nodeClaim: 'default-x' },
  realisedUsd: -0.002,
};

describe('karpenter moves', () => {
  it('lists moves, with the totals of lasting moves and of all savings', () => {
    const lines = movesText([undone, move]).split('\n');
    expect(lines[1]).toMatch(
      /single-node consolidation +undone by default-x \(bought-again\) +\$0.1000\/h +-\$0.0020 /,
    );
    expect(lines[2]).toMatch(/emptiness +kept +\$0.1000\/h +\$0.0450 +delete: \[node-a\]$/);
    expect(lines[4]).toBe(
      '2 moves, 1 undone: $0.1000/h predicted savings, $0.0430 saved in the first 30 minutes of each',
    );
    expect(movesText([])).toMatch(
      /^no node has been consolidated since this operator acquired the lease\nnodes that were disrupted /,
    );
    expect(movesText([move])).toMatch(
      / for other reasons \(drift, expiration, interruption, repair\) are not listed; .*\n$/,
    );
  });

  it('shows a move of 29 nodes in 80 columns, with its command below', () => {
    const nodes = Array.from({ length: 29 }, (_, at) => `ip-10-0-${at}-7.us-west-2.compute.internal`);
    const large: MoveView = { ...move, method: 'multi-node consolidation', command: `delete: [${nodes.join(', ')}]` };
    expect(at80(() => movesText([large, undone]))).toMatchSnapshot();
    expect(tooWide(at80(() => movesText([large, undone])))).toEqual([]);
    expect(movesText([large])).toMatch(/ \$0\.0450 +delete: \[ip-10-0-0-7\S+, ip-10-0-1-7\S+, \S+ and 26 more\]\n/);
  });

  it.each([
    ['json', `${JSON.stringify([move])}\n`],
    ['yaml', expect.stringMatching(/^- id: "1"\n/)],
    ['table', movesText([move])],
  ])('requests the moves of the operator and prints %s', async (format, output) => {
    const server = createServer((request, response) => {
      response.writeHead(request.url === '/debug/moves' ? 200 : 404).end(JSON.stringify([move]));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      await movesCommand().parseAsync(['--server', url, '-o', format], { from: 'user' });
      expect(written.mock.calls).toEqual([[output]]);
    } finally {
      written.mockRestore();
      server.closeAllConnections();
      server.close();
    }
  });
});

describe('a missing object', () => {
  it.each([
    [[], 'node "x" not found in now.yaml; none exist'],
    [['a', 'b'], 'node "x" not found in now.yaml; existing names: a, b'],
    [[...'abcdefghijkl'], 'node "x" not found in now.yaml; existing names: a, b, c, d, e, f, g, h, i, j and 2 more'],
  ])('is reported with the existing objects: %j', (known, text) => {
    expect(notAmong('node', 'x', { known, where: 'in now.yaml' })).toBe(text);
  });
});
