/** Shows `karpenter top` in a terminal, with ink. */
import { Box, render, Text, useApp, useInput, useWindowSize } from 'ink';
import { createElement, type ReactElement, useEffect, useReducer, useState } from 'react';
import { escapeControls, withoutFilter } from '#observe/logger';
import { INITIAL, type Key, press, type ScreenChoices } from './choices.ts';
import { frame } from './frame.ts';
import type { StyledLine } from './spans.ts';
import type { WatchedCluster } from './watch.ts';

const REDRAW_MS = 1_000;

interface Pressed {
  readonly upArrow: boolean;
  readonly downArrow: boolean;
  readonly pageUp: boolean;
  readonly pageDown: boolean;
  readonly return: boolean;
  readonly escape: boolean;
  readonly backspace: boolean;
  readonly delete: boolean;
}

function keyOf(input: string, key: Pressed): Key {
  if (key.upArrow) return 'up';
  if (key.downArrow) return 'down';
  if (key.pageUp) return 'page up';
  if (key.pageDown) return 'page down';
  if (key.return) return 'enter';
  if (key.escape) return 'escape';
  // terminals send delete for the backspace key
  return key.backspace || key.delete ? 'backspace' : { text: input };
}

const lineElement = (line: StyledLine, at: number): ReactElement =>
  createElement(
    Text,
    { key: at, wrap: 'truncate' },
    line.length === 0
      ? ' '
      : line.map(({ text, color, bold = false, dim = false, inverse = false }, span) =>
          createElement(
            Text,
            { key: span, bold, dimColor: dim, inverse, ...(color && { color }) },
            escapeControls(text),
          ),
        ),
  );

function Screen({
  cluster,
  initial,
}: {
  readonly cluster: WatchedCluster;
  readonly initial: ScreenChoices;
}): ReactElement {
  const { exit } = useApp();
  const { columns, rows } = useWindowSize();
  const [choices, choose] = useState(initial);
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const timer = setInterval(redraw, REDRAW_MS);
    return () => clearInterval(timer);
  }, []);
  const state = cluster.state();
  useInput((input, key) => {
    const next = press(choices, keyOf(input, key), state);
    if (next === undefined) exit();
    else choose(next);
  });
  const { verdictOf } = cluster;
  const lines = frame({ state, choices, columns, rows, verdictOf, problem: cluster.problem() });
  return createElement(Box, { flexDirection: 'column' }, lines.map(lineElement));
}

interface Terminal {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
}

/** Shows the view until the user closes it. */
export async function showScreen(
  cluster: WatchedCluster,
  { stdin, stdout }: Terminal = process,
  initial: ScreenChoices = INITIAL,
): Promise<void> {
  const options = { alternateScreen: true, interactive: true, stdin, stdout: withoutFilter(stdout) };
  await render(createElement(Screen, { cluster, initial }), options).waitUntilExit();
}
