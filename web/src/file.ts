// An exported report: a file that has the page and its data in it, and asks nobody.

interface Data {
  run: string;
  documents: Record<string, unknown>;
}

function read(): Data | undefined {
  const data = document.getElementById("data");
  return data ? (JSON.parse(data.textContent ?? "") as Data) : undefined;
}

const data = read();

// The run that the file is of; nothing on a page that is served.
export const exportedRun: string | undefined = data?.run;

// What a path stands for; null where the file does not have it, nothing on a page that is served.
// How finely series are asked for does not matter: the file has them once.
export function documentOf(path: string): unknown {
  if (!data) return undefined;
  return data.documents[path.replace(/&.*/, "")] ?? null;
}
