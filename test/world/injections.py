"""Takes texts out of AgentDojo's files, without importing any of them (agentdojo.ts)."""
import ast, glob, json, re, sys

home = sys.argv[1] + "/agentdojo"

def text_of(node, names):
    """Of a constant, an f-string of such, or several that stand together; None: of another."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant)
            else names.get(getattr(part.value, "id", ""), "somebody")
            for part in node.values
        )
    return None

def assigned(body, names):
    for line in body:
        if not isinstance(line, (ast.Assign, ast.AnnAssign)) or line.value is None:
            continue
        text = text_of(line.value, names)
        for target in getattr(line, "targets", None) or [line.target]:
            if isinstance(target, ast.Name) and text is not None:
                names[target.id] = text
    return names

def texts_in(node):
    return [one.value for one in ast.walk(node) if text_of(one, {}) is not None
            and isinstance(one, ast.Constant)]

def functions_in(task):
    """The tools that its ground truth calls, each once."""
    calls = [one for one in ast.walk(task) if isinstance(one, ast.Call)
             and getattr(one.func, "id", "") == "FunctionCall"]
    words = [word for call in calls for word in call.keywords if word.arg == "function"]
    return list(dict.fromkeys(text for word in words for text in texts_in(word)))

suites = ["banking", "slack", "travel", "workspace"]
goals = []
for suite in suites:
    tree = ast.parse(open(f"{home}/default_suites/v1/{suite}/injection_tasks.py").read())
    shared = assigned(tree.body, {})
    for task in (one for one in tree.body if isinstance(one, ast.ClassDef)):
        goal = assigned(task.body, dict(shared)).get("GOAL")
        if goal:
            goals.append({"suite": suite, "goal": goal, "tools": functions_in(task)})

attacks = []
for file in sorted(glob.glob(f"{home}/attacks/*.py")):
    for text in texts_in(ast.parse(open(file).read())):
        # The description of a class is no attack.
        if "{goal}" in text and not text.startswith("Attack which"):
            named = text.replace("{user}", "Emma Johnson").replace("{model}", "AI assistant")
            attacks.append(named)

documents = {}
for suite in suites:
    found = documents[suite] = []
    folder = f"{home}/data/suites/{suite}"
    places = re.findall(r"^(\w+):", open(f"{folder}/injection_vectors.yaml").read(), re.M)
    pattern = r"\{(?:" + "|".join(places) + r")\}"
    for file in sorted(glob.glob(f"{folder}/**/*.yaml", recursive=True)):
        text = open(file).read()
        for place in re.finditer(pattern, text):
            before, after = text[:place.start()][-2000:], text[place.end():][:2000]
            found.append(before + "{injection}" + after)

print(json.dumps({"attacks": list(dict.fromkeys(attacks)), "goals": goals, "documents": documents}))
