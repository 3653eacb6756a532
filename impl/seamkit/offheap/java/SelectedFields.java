package seamkit.offheap;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Parts of columns that are asked for: a tree of names in the order of their first appearance. */
public final class SelectedFields {
    private static final SelectedFields ALL = new SelectedFields();

    private final Map<String, SelectedFields> children = new LinkedHashMap<String, SelectedFields>();

    private SelectedFields() {}

    /**
     * The tree of dotted paths.
     *
     * @throws IllegalArgumentException a path with an empty name
     */
    public static SelectedFields of(String[] paths) {
        SelectedFields root = new SelectedFields();
        for (int i = 0; i < paths.length; i++) {
            SelectedFields node = root;
            String[] names = paths[i].split("\\.", -1);
            for (int j = 0; j < names.length; j++) {
                if (names[j].isEmpty()) {
                    throw new IllegalArgumentException(
                            "nested field '" + paths[i] + "': a path has no empty names");
                }
                SelectedFields next = (SelectedFields) node.children.get(names[j]);
                if (next == null) {
                    next = new SelectedFields();
                    node.children.put(names[j], next);
                }
                node = next;
            }
        }
        return root;
    }

    /** Names on this level. */
    public List<String> fields() {
        return new ArrayList<String>(children.keySet());
    }

    /** Whether nothing below is named, which asks for all of it. */
    public boolean isWhole() {
        return children.isEmpty();
    }

    /** What is asked for below a name: all, if that is not named. */
    public SelectedFields child(String name) {
        SelectedFields found = (SelectedFields) children.get(name);
        return found == null ? ALL : found;
    }
}
