// Counts the GPUs of a cluster by model from its node list, and draws them. Leaves result.json and gpus.svg behind.
import { readFileSync, writeFileSync } from 'node:fs';

const [heading, ...lines] = readFileSync(process.argv[2] ?? 'nodes.csv', 'utf8')
  .trim()
  .split('\n');
const columns = heading.split(',');
const nodes = lines.map((line) => Object.fromEntries(line.split(',').map((cell, index) => [columns[index], cell])));

const models = new Map();
nodes.forEach((node, index) => {
  const gpus = Number(node.gpu || 0);
  if (gpus > 0) {
    const model = node.model || 'unknown';
    const { gpus: before, nodes: hosts } = models.get(model) ?? { gpus: 0, nodes: 0 };
    models.set(model, { gpus: before + gpus, nodes: hosts + 1 });
  }
  if ((index + 1) % 250 === 0) console.log(`::progress ${(index + 1) / nodes.length} ${index + 1} nodes read`);
});
const ranked = [...models].map(([model, counts]) => ({ model, ...counts })).sort((a, b) => b.gpus - a.gpus);

const sum = (field) => nodes.reduce((total, node) => total + Number(node[field] || 0), 0);
const result = {
  nodes: nodes.length,
  withGpu: ranked.reduce((total, { nodes: hosts }) => total + hosts, 0),
  cores: sum('cpu_milli') / 1000,
  memoryTiB: Math.round((sum('memory_mib') / 2 ** 20) * 10) / 10,
  gpus: sum('gpu'),
  models: ranked,
};
writeFileSync('result.json', `${JSON.stringify(result, null, 2)}\n`);
writeFileSync('gpus.svg', chart(ranked, result));
console.log(`${result.gpus} GPUs of ${ranked.length} models in ${result.withGpu} of ${result.nodes} nodes`);

/** Horizontal bars, the most frequent model first. */
function chart(rows, { gpus, nodes: hosts }) {
  const [width, left, bar, gap, top] = [720, 90, 22, 10, 56];
  const height = top + rows.length * (bar + gap) + 16;
  const scale = (width - left - 150) / Math.max(...rows.map((row) => row.gpus));
  const bars = rows.map((row, index) => {
    const y = top + index * (bar + gap);
    const length = Math.max(1, Math.round(row.gpus * scale));
    const label = `${row.gpus} in ${row.nodes} nodes`;
    return [
      `<text x="${left - 10}" y="${y + 16}" text-anchor="end">${row.model}</text>`,
      `<rect x="${left}" y="${y}" width="${length}" height="${bar}" rx="3" fill="#2f6f8f"/>`,
      `<text x="${left + length + 8}" y="${y + 16}" fill="#555">${label}</text>`,
    ].join('');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="14">
<rect width="100%" height="100%" fill="#fff"/>
<text x="16" y="32" font-size="18">${gpus} GPUs by model, ${hosts} nodes</text>
${bars.join('\n')}
</svg>
`;
}
