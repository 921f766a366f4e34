/** Files of the page. They are next to the sources and, in a bundle, next to the program. */
import { readFileSync } from 'node:fs';

interface Asset {
  readonly type: string;
  readonly body: Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** All files that the server serves. */
const FILES = [
  'index.html',
  'style.css',
  'icon.svg',
  'app.js',
  'dom.js',
  'format.js',
  'map-layout.js',
  'map.js',
  'nodes.js',
  'object-views.js',
  'panels.js',
  'parts.js',
  'sentences.js',
  'timeline-layout.js',
  'timeline-view.js',
  'views.js',
  'what-if-view.js',
];

/** Reads the files by path. @throws Error if a file is missing from the installation */
export function readAssets(): ReadonlyMap<string, Asset> {
  const files = FILES.map((file): readonly [string, Asset] => {
    const body = readFileSync(new URL(`./page/${file}`, import.meta.url));
    return [`/${file}`, { type: TYPES[file.slice(file.lastIndexOf('.') + 1)] ?? 'text/plain', body }];
  });
  const assets = new Map(files);
  const index = assets.get('/index.html');
  if (index !== undefined) assets.set('/', index);
  return assets;
}
