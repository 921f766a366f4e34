/** Runs a renderer as if the terminal had 80 columns. */
export function at80(render: () => string): string {
  const { columns } = process.stdout;
  process.stdout.columns = 80;
  try {
    return render();
  } finally {
    process.stdout.columns = columns;
  }
}

/** Returns the lines of a text that are wider than 80 columns. */
export const tooWide = (text: string): readonly string[] => text.split('\n').filter((line) => line.length > 80);
