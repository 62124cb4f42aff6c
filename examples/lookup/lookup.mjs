// Answers over HTTP how many GPUs of a model the nodes of a list have: GET /T4 → {"model":"T4","gpus":842}. Listens on this
// machine only, on HTTP_PORT (0: any that is free), and says where. Ends well when it is told to.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const gpus = new Map();
const [heading, ...rows] = readFileSync(process.argv[2], 'utf8').trim().split('\n');
const columns = heading.split(',');
for (const row of rows) {
  const cells = row.split(',');
  const [count, model] = [Number(cells[columns.indexOf('gpu')]), cells[columns.indexOf('model')]];
  if (count > 0) gpus.set(model, (gpus.get(model) ?? 0) + count);
}

const server = createServer((request, response) => {
  const model = decodeURIComponent(request.url.slice(1));
  response.writeHead(gpus.has(model) ? 200 : 404, { 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify({ model, gpus: gpus.get(model) ?? 0, models: [...gpus.keys()].sort() }));
});
server.listen(Number(process.env.HTTP_PORT ?? 0), '127.0.0.1', () => {
  console.log(`process ${process.pid} answers on http://127.0.0.1:${server.address().port}`);
});
process.once('SIGTERM', () => server.close());
